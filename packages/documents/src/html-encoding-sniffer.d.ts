declare module 'html-encoding-sniffer' {
  /** Returns the name of a page's encoding, determined by the HTML standard's encoding sniffing algorithm. */
  export default function sniff(
    bytes: Uint8Array,
    options: { transportLayerEncodingLabel?: string; defaultEncoding: string; maxPrescanBytes: number },
  ): string;
}
