import { expect, test } from 'vitest'
import { matchesInAnyOrder, matchesInOrder, matchesLine, withSeen } from './expected-output.ts'

test('a placeholder stands for the same as before, in commands too', () => {
  const seen = new Map<string, string>()
  expect(matchesLine('ready: process <pid>', 'ready: process 42', seen)).toBe(true)
  expect(matchesLine('<pid> has stopped', '43 has stopped', seen)).toBe(false)
  expect(matchesLine('<pid> has stopped', '42 has stopped', seen)).toBe(true)
  expect(withSeen('kill -9 <pid> <other>', seen)).toBe('kill -9 42 <other>')
})

test('an ellipsis stands for anything, all else for itself', () => {
  expect(matchesLine('made … (in ms)', 'made 7 files (in ms)', new Map())).toBe(true)
  expect(matchesLine('a.b', 'axb', new Map())).toBe(false)
})

test('columns may be wider', () => {
  expect(matchesLine('ID  OWNER', 'ID     OWNER', new Map())).toBe(true)
})

test('lines are compared one by one, or in any order, and none may be missing or added', () => {
  const seen = new Map<string, string>()
  expect(matchesInOrder(['a', '…'], ['a', 'b'], seen)).toBe(true)
  expect(matchesInOrder(['b', 'a'], ['a', 'b'], seen)).toBe(false)
  expect(matchesInAnyOrder(['b', 'a'], ['a', 'b'], seen)).toBe(true)
  expect(matchesInAnyOrder(['a'], ['a', 'a'], seen)).toBe(false)
  expect(matchesInAnyOrder(['a', 'a'], ['a'], seen)).toBe(false)
})
