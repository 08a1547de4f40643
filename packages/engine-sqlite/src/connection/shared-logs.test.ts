import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { makeSharedLogs } from './shared-logs.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tidemark-'))
  file = join(folder, 'db.sqlite')
  writeFileSync(file, '')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

test('a group finds the log and the shared memory with its rights, whatever the umask', () => {
  chmodSync(file, 0o660)
  makeSharedLogs(file)
  expect(readdirSync(folder).sort()).toEqual(['db.sqlite', 'db.sqlite-shm', 'db.sqlite-wal'])
  for (const log of ['-wal', '-shm']) expect(statSync(file + log).mode & 0o777).toBe(0o660)
})

test('what is there stays as it is', () => {
  chmodSync(file, 0o660)
  writeFileSync(`${file}-wal`, 'frames')
  makeSharedLogs(file)
  expect(readFileSync(`${file}-wal`, 'utf8')).toBe('frames')
})

test('where only the owner works, SQLite makes them', () => {
  chmodSync(file, 0o600)
  makeSharedLogs(file)
  expect(readdirSync(folder)).toEqual(['db.sqlite'])
})
