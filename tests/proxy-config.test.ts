import { spawnSync } from 'node:child_process';
import { findNginx, proxyFolder } from '@customer-platform/testkit/nginx';
import { expect, it } from '@jest/globals';

it('nginx takes deploy/proxy/nginx.conf without a warning, alone and behind a balancer', async () => {
  const { command, env } = await findNginx();
  for (const options of [{}, { balancer: '192.0.2.7' }]) {
    const { directory, file, remove } = await proxyFolder('http://127.0.0.1:8080', options);
    try {
      const args = ['-t', '-p', directory, '-e', 'stderr', '-c', file];
      // nginx opens /dev/stdout by its path, which a socket does not allow.
      const stdio = ['ignore', 'ignore', 'pipe'] as const;
      const { status, stderr } = spawnSync(command, args, {
        env,
        stdio: [...stdio],
        encoding: 'utf8',
        timeout: 20_000,
      });
      // nginx 1.22 knows no other way to switch HTTP/2 on; later ones say that there is one.
      const expected = / (?:is ok|is successful)$|"listen \.\.\. http2" directive is deprecated/;
      expect([status, stderr.split('\n').filter((line) => !expected.test(line))]).toEqual([0, ['']]);
    } finally {
      remove();
    }
  }
});
