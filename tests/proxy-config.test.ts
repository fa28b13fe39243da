import { spawnSync } from 'node:child_process';
import { findNginx, proxyFolder } from '@customer-platform/testkit/nginx';
import { expect, it } from '@jest/globals';

it('nginx accepts deploy/proxy/nginx.conf without a warning, with and without a balancer', async () => {
  const { command, env } = await findNginx();
  for (const options of [{}, { balancer: '192.0.2.7' }]) {
    const { directory, file, remove } = await proxyFolder('http://127.0.0.1:8080', options);
    try {
      const args = ['-t', '-p', directory, '-e', 'stderr', '-c', file];
      // nginx opens /dev/stdout by its path, which fails if it is a socket.
      const stdio = ['ignore', 'ignore', 'pipe'] as const;
      const { status, stderr } = spawnSync(command, args, {
        env,
        stdio: [...stdio],
        encoding: 'utf8',
        timeout: 20_000,
      });
      // nginx 1.22 enables HTTP/2 only with this parameter; later versions warn that it is deprecated.
      const expected = / (?:is ok|is successful)$|"listen \.\.\. http2" directive is deprecated/;
      expect([status, stderr.split('\n').filter((line) => !expected.test(line))]).toEqual([0, ['']]);
    } finally {
      remove();
    }
  }
});
