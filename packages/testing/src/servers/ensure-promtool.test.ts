import { afterEach, expect, test, vi } from 'vitest'
import { ensurePromtool } from './ensure-promtool.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a PROMTOOL_BIN that is no promtool is an error, not a reason to use another one', async () => {
  vi.stubEnv('PROMTOOL_BIN', '/bin/false')
  await expect(ensurePromtool()).rejects.toThrow('PROMTOOL_BIN is set to /bin/false')
})
