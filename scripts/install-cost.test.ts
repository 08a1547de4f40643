import { expect, test } from 'vitest'
import { costProblems, type InstallCost } from './install-cost.ts'

const fine: InstallCost = {
  packages: ['tidemark', '@tidemark/store'],
  bytes: 4_500_000,
  loaded: new Map([
    ['tidemark', 5],
    ['@tidemark/store', 10],
    ['p-queue', 3],
  ]),
  refusals: [
    {
      args: 'dev',
      install: '@tidemark/gateway@',
      said: 'tidemark: ERR_MISSING_PACKAGE: this needs …: npm install @tidemark/gateway@0.1.0',
    },
  ],
}

test('an install within the limits has no problems', () => {
  expect(costProblems(fine)).toEqual([])
})

test.each([
  [
    'a package too many',
    { packages: Array.from({ length: 13 }, (_, n) => `p${n}`) },
    /13 packages/,
  ],
  ['too many bytes', { bytes: 6_000_001 }, /6\.0 MB/],
  ['too many modules', { loaded: new Map([['tidemark', 61]]) }, /loads 61 modules, 60 at most/],
  ['a driver that is loaded', { loaded: new Map([['pg', 20]]) }, /loads pg/],
  ['the engine of a driver', { loaded: new Map([['@tidemark/engine-postgres', 1]]) }, /postgres/],
  [
    'a command that says nothing useful',
    { refusals: [{ args: 'dev', install: 'x', said: "ERR_FAILED: Cannot find package 'x'" }] },
    /tidemark dev, without x, says/,
  ],
] as const)('%s is a problem', (_what, change: Partial<InstallCost>, message) => {
  expect(costProblems({ ...fine, ...change })).toEqual([expect.stringMatching(message)])
})
