import { afterEach, expect, test, vi } from 'vitest'
import { ensurePgBouncer } from './ensure-pgbouncer.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a PGBOUNCER_BIN that is no PgBouncer is an error, not a reason to use another one', async () => {
  vi.stubEnv('PGBOUNCER_BIN', '/bin/true')
  await expect(ensurePgBouncer()).rejects.toThrow('PGBOUNCER_BIN is set to /bin/true')
})
