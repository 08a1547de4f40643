import { commitChars, planUniqueEntries, type CommitRequest } from '@tidemark/store/engine'
import { expect, test } from 'vitest'
import { entryKeys } from './entry-values.ts'
import { WriteQueue, documentKeys, type WaitingCommit } from './write-queue.ts'

const LIMITS = { maxOperations: 3, maxChars: 100 }
const collection = 1

interface Named extends WaitingCommit {
  readonly name: string
}

function commit(
  name: string,
  ids: readonly string[],
  { chars = 1, epoch = 0, isSynced = true } = {},
): Named {
  const request: CommitRequest = {
    batches: [
      {
        collection,
        epk: '00',
        partitionKey: '["a"]',
        operations: ids.map((id) => {
          const condition = { kind: 'none' } as const
          return { kind: 'put', id, condition, rid: '', body: 'x'.repeat(chars), ttl: 0 }
        }),
      },
    ],
    fence:
      epoch === 0
        ? undefined
        : { job: 'job', epoch, range: { minInclusive: '', maxExclusive: 'FF' } },
  }
  return {
    name,
    request,
    operations: ids.length,
    isSynced,
    chars: commitChars(request.batches),
    keys: documentKeys(request),
  }
}

function groupsOf(commits: readonly Named[], limits = LIMITS): readonly (readonly string[])[] {
  const queue = new WriteQueue<Named>()
  for (const each of commits) queue.push(each)
  const groups: string[][] = []
  while (queue.length > 0) groups.push(queue.take(limits).map(({ name }) => name))
  return groups
}

test('a group has as many operations as it may, and nobody overtakes', () => {
  const commits = [commit('a', ['1', '2']), commit('b', ['3', '4']), commit('c', ['5'])]
  expect(groupsOf(commits)).toEqual([['a'], ['b', 'c']])
})

test('a group has as much text as it may; one commit that has more goes alone', () => {
  const commits = [
    commit('a', ['1'], { chars: 60 }),
    commit('b', ['2'], { chars: 60 }),
    commit('c', ['3'], { chars: 40 }),
    commit('d', ['4'], { chars: 500 }),
    commit('e', ['5']),
  ]
  expect(groupsOf(commits)).toEqual([['a'], ['b', 'c'], ['d'], ['e']])
})

test('commits of one document come in different groups, in their order', () => {
  const commits = [
    commit('a', ['1']),
    commit('b', ['1', '2']),
    commit('c', ['2']),
    commit('d', ['3']),
  ]
  expect(groupsOf(commits)).toEqual([['a', 'd'], ['b'], ['c']])
})

test('JB-2 a group has one epoch of a job, and a commit that waits for it holds back its documents', () => {
  const commits = [
    commit('a', ['1'], { epoch: 1 }),
    commit('b', ['2'], { epoch: 2 }),
    commit('c', ['2']),
    commit('d', ['3'], { epoch: 1 }),
  ]
  expect(groupsOf(commits)).toEqual([['a', 'd'], ['b'], ['c']])
})

test('of two commits that give out one entry of a unique key the second waits for the group after', () => {
  const holding = (name: string, mail: string): Named => {
    const named = commit(name, [name])
    const [batch] = named.request.batches
    const plan =
      batch && planUniqueEntries([{ ...batch, uniqueSteps: [{ id: name, entries: [mail] }] }])
    return { ...named, keys: [...named.keys, ...entryKeys(plan)] }
  }
  const waiting = [holding('a', 'm'), holding('b', 'm'), holding('c', 'n'), commit('d', ['d'])]
  expect(groupsOf(waiting)).toEqual([['a', 'c', 'd'], ['b']])
})

test('who does not wait for the disk goes without those who do, but with them when they go first', () => {
  const [later, sooner] = [{ isSynced: true }, { isSynced: false }]
  const limits = { maxOperations: 10, maxChars: 100 }
  expect(
    groupsOf(
      [
        commit('a', ['1'], sooner),
        commit('b', ['2'], later),
        commit('c', ['3'], sooner),
        // Behind the one that waits.
        commit('d', ['2'], sooner),
      ],
      limits,
    ),
  ).toEqual([['a', 'c'], ['b'], ['d']])
  expect(groupsOf([commit('a', ['1'], later), commit('b', ['2'], sooner)], limits)).toEqual([
    ['a', 'b'],
  ])
})
