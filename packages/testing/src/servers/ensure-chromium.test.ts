import { afterEach, expect, test, vi } from 'vitest'
import { ensureChromium } from './ensure-chromium.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a CHROMIUM_BIN that is no Chromium is an error, not a reason to use another one', async () => {
  vi.stubEnv('CHROMIUM_BIN', '/bin/true')
  await expect(ensureChromium()).rejects.toThrow('CHROMIUM_BIN is set to /bin/true')
})
