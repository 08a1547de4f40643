import { afterEach, expect, test, vi } from 'vitest'
import { ensureProton } from './ensure-proton.ts'

afterEach(() => {
  vi.unstubAllEnvs()
})

test('a PROTON_PYTHON that cannot import proton is an error, not a reason to use another one', async () => {
  vi.stubEnv('PROTON_PYTHON', '/bin/false')
  await expect(ensureProton()).rejects.toThrow('PROTON_PYTHON is set to /bin/false')
})
