import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parseAccessPolicies, readAccessPolicies } from './access-policy-file.ts'

test('a line is a policy: its name, its rights, its keys', () => {
  const text = `
# of the workers
worker   Listen,Send  key-of-the-worker  next-key-of-the-worker
  billing\tsend key-of-billing\r
# the end`
  expect(parseAccessPolicies(text, 'file')).toEqual([
    {
      name: 'worker',
      rights: ['Listen', 'Send'],
      keys: ['key-of-the-worker', 'next-key-of-the-worker'],
    },
    { name: 'billing', rights: ['Send'], keys: ['key-of-billing'] },
  ])
})

test.each([
  ['', 'file holds no policy'],
  ['# nothing', 'file holds no policy'],
  ['worker', 'file, line 1: it must have a name, rights and keys'],
  ['\nworker Listen', 'file, line 2: it has no key'],
  ['worker Read secret', 'file, line 1: the rights must be Listen, Send, Manage, with commas'],
  ['worker Listen,,Send secret', 'file, line 1: the rights must be'],
  ['worker Listen, Send secret', 'file, line 1: the rights must be'],
  ['a Listen secret\na Send secret', 'file, line 2: there is a policy a above'],
])('%j is refused by its line, without a key', (text, message) => {
  const refused = (): unknown => parseAccessPolicies(text, 'file')
  expect(refused).toThrow(
    expect.objectContaining({ code: 'ERR_INPUT', message: expect.stringContaining(message) }),
  )
  expect(refused).not.toThrow(/secret/)
})

test.runIf(process.platform !== 'win32')('a file that others may read is refused', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-policies-'))
  try {
    const file = join(folder, 'policies')
    await writeFile(file, 'worker Listen a-secret-key-of-it')
    await chmod(file, 0o644)
    await expect(readAccessPolicies(file)).rejects.toMatchObject({
      code: 'ERR_INPUT',
      message: expect.stringMatching(`--access-policies ${file} cannot be read: .*mode 644`),
    })
    await chmod(file, 0o640)
    expect(await readAccessPolicies(file)).toHaveLength(1)
    await expect(readAccessPolicies(join(folder, 'none'))).rejects.toMatchObject({
      code: 'ERR_INPUT',
    })
  } finally {
    await rm(folder, { recursive: true })
  }
})
