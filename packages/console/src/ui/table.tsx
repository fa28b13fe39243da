import {
  type ColumnDef,
  createSortedRowModel,
  rowSortingFeature,
  sortFn_alphanumeric,
  sortFn_basic,
  tableFeatures,
  useTable,
} from '@tanstack/react-table';
import { type ReactNode, useMemo } from 'react';
import { type Word, words } from '../language.ts';
import { Term } from './word.tsx';

/** A column of a table. With `sortBy`, its header sorts the loaded rows. */
export interface Column<Row> {
  id: string;
  header: string;
  /** The term that the header's tooltip explains. */
  word?: Word;
  cell: (row: Row) => ReactNode;
  sortBy?: (row: Row) => string | number;
  /** Numbers are right-aligned. A wide cell takes the remaining space. */
  kind?: 'number' | 'wide' | 'actions';
}

const features = tableFeatures({
  rowSortingFeature,
  sortedRowModel: createSortedRowModel(),
  sortFns: { alphanumeric: sortFn_alphanumeric, basic: sortFn_basic },
});

function definitionOf<Row extends object>(column: Column<Row>): ColumnDef<typeof features, Row> {
  const { id, header, sortBy } = column;
  if (!sortBy) return { id, header, enableSorting: false };
  return { id, header, accessorFn: sortBy, sortFn: 'basic', sortDescFirst: column.kind === 'number' };
}

const ariaSort = { asc: 'ascending', desc: 'descending' } as const;

/**
 * A table of rows. `rowKey` returns a row's unique key. On narrow screens, each row becomes a card with its headers.
 * `empty` is shown if there are no rows.
 */
export function DataTable<Row extends object>(props: {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  rowKey: (row: Row) => string;
  empty: ReactNode;
  rowClass?: (row: Row) => string | undefined;
}) {
  const { label, columns, rows, rowKey, empty, rowClass } = props;
  const definitions = useMemo(() => columns.map(definitionOf), [columns]);
  const table = useTable({ features, columns: definitions, data: rows, getRowId: rowKey });
  if (rows.length === 0) return <p className="panel empty">{empty}</p>;
  return (
    <div className="panel">
      <table className="data" aria-label={label}>
        <thead>
          <tr>
            {table.getFlatHeaders().map(({ id, column }, index) => {
              const sorted = column.getIsSorted();
              const { header, kind, word } = columns[index]!;
              const meaning = word && words[word];
              return (
                <th key={id} scope="col" className={kind} aria-sort={sorted ? ariaSort[sorted] : undefined}>
                  {column.getCanSort() ? (
                    <button
                      type="button"
                      data-tip={meaning}
                      aria-description={meaning}
                      onClick={column.getToggleSortingHandler()}
                    >
                      <span className={word && 'word'}>{header}</span>
                      <span aria-hidden="true">{sorted ? (sorted === 'asc' ? ' ↑' : ' ↓') : ''}</span>
                    </button>
                  ) : word ? (
                    <Term word={word}>{header}</Term>
                  ) : (
                    header || <span className="hidden">Actions</span>
                  )}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {table.getRowModel().rows.map((row) => (
            <tr key={row.id} className={rowClass?.(row.original)}>
              {columns.map((column) => (
                <td key={column.id} className={column.kind} data-label={column.header}>
                  <div>{column.cell(row.original)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
