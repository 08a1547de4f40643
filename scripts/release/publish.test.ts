import { expect, test } from 'vitest'
import { defaultDistTag, publishAll, publishOrder, type Publication } from './publish.ts'
import type { Outcome, Run } from '../run-program.ts'
import { checkSignatures } from './supply-chain.ts'

const item = (name: string, ...needs: readonly string[]): Publication => ({
  name,
  version: '0.1.0',
  folder: name,
  path: `/tarballs/${name}.tgz`,
  files: [],
  packedBytes: 1,
  unpackedBytes: 1,
  integrity: `sha512-${name}`,
  needs,
})
const PACKAGES = [
  item('store', 'contracts', 'eventemitter3'),
  item('cli', 'store'),
  item('contracts'),
]
const NOT_FOUND = { code: 1, stdout: '', stderr: 'npm error code E404\n' }

/** Answers each command by the first text that it begins with; what is not named succeeds. */
function answering(answers: Readonly<Record<string, Partial<Outcome>>>) {
  const asked: string[] = []
  const run: Run = async (command, args) => {
    const line = [command, ...args].join(' ')
    asked.push(line)
    const [, answer] = Object.entries(answers).find(([start]) => line.startsWith(start)) ?? []
    return { code: 0, stdout: '', stderr: '', ...answer }
  }
  const logged: string[] = []
  const log = (line: string): void => void logged.push(line)
  return { asked, logged, run, options: { root: '/', distTag: 'latest', run, log } }
}

test('packages follow those that they need', () => {
  expect(publishOrder(PACKAGES).map(({ name }) => name)).toEqual(['contracts', 'store', 'cli'])
  expect(() => publishOrder([item('a', 'b'), item('b', 'a')])).toThrow('need each other: a, b')
})

test('every tarball is published, with a statement of where it comes from', async () => {
  const { asked, options } = answering({ 'npm view': NOT_FOUND })
  await publishAll(publishOrder(PACKAGES), options)
  expect(asked.filter((line) => line.startsWith('npm publish'))).toEqual([
    'npm publish /tarballs/contracts.tgz --provenance --ignore-scripts',
    'npm publish /tarballs/store.tgz --provenance --ignore-scripts',
    'npm publish /tarballs/cli.tgz --provenance --ignore-scripts',
  ])
})

test('a release that broke off continues with what is not published yet', async () => {
  const { asked, logged, options } = answering({
    'npm view contracts@0.1.0': { stdout: 'sha512-contracts\n' },
    'npm view': NOT_FOUND,
  })
  await publishAll(publishOrder(PACKAGES), { ...options, distTag: 'next' })
  expect(logged).toEqual([
    'is published already: contracts@0.1.0',
    'published store@0.1.0',
    'published cli@0.1.0',
  ])
  expect(asked).toContain('npm publish /tarballs/cli.tgz --provenance --ignore-scripts --tag next')
})

test.each<readonly [string, Readonly<Record<string, Partial<Outcome>>>]>([
  ['cli@0.1.0 is published with another', { 'npm view cli': { stdout: 'sha512-other' } }],
  ['npm cannot tell whether contracts@0.1.0', { 'npm view': { code: 1, stderr: 'ECONNREFUSED' } }],
])('nothing is published when %s content or state', async (message, answers) => {
  const { asked, options } = answering({
    ...answers,
    'npm view': { ...NOT_FOUND, ...answers['npm view'] },
  })
  await expect(publishAll(publishOrder(PACKAGES), options)).rejects.toThrow(message)
  expect(asked.filter((line) => line.startsWith('npm publish'))).toEqual([])
})

test('a package that the registry refuses ends the release there', async () => {
  const { asked, logged, options } = answering({
    'npm view': NOT_FOUND,
    'npm publish /tarballs/store.tgz': { code: 1, stderr: 'npm error code E403' },
  })
  await expect(publishAll(publishOrder(PACKAGES), options)).rejects.toThrow('E403')
  expect(logged).toEqual(['published contracts@0.1.0'])
  expect(asked.at(-1)).toContain('store.tgz')
})

test('a pre-release is not what everybody gets', () => {
  expect(['0.1.0', '0.2.0-next.0'].map(defaultDistTag)).toEqual(['latest', 'next'])
})

const pg = { name: 'pg', version: '8.1.0' }

test.each<readonly [Partial<Outcome>, object]>([
  [{ stdout: '{"invalid":[],"missing":[]}' }, { kind: 'verified' }],
  [
    { code: 1, stdout: JSON.stringify({ invalid: [pg], missing: [{ ...pg, name: 'ws' }] }) },
    { kind: 'wrong', packages: ['pg@8.1.0', 'ws@8.1.0'] },
  ],
  [
    { code: 1, stdout: '{"error":{"code":"ENOTFOUND","summary":"no such host"}}' },
    { kind: 'unknown', reason: 'no such host' },
  ],
  [
    { code: 1, stderr: 'npm error broken\n' },
    { kind: 'unknown', reason: 'npm error broken' },
  ],
])('signatures: %j is %j', async (outcome, signatures) => {
  const { run } = answering({ 'npm audit signatures': outcome })
  expect(await checkSignatures('/', run)).toEqual(signatures)
})
