import { execFile } from 'node:child_process'
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ensurePostgresServer } from './ensure-postgres-server.ts'
import { missingPackages } from './install-postgres.ts'

const run = promisify(execFile)
let folder = ''

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-ensure-'))
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true, force: true })
})

/** Programs that only tell a version. */
async function fakePrograms(name: string, versions: Record<string, number>): Promise<string> {
  const programs = join(folder, name)
  await mkdir(programs)
  for (const [program, version] of Object.entries(versions)) {
    const script = `#!/bin/sh\necho "${program} (PostgreSQL) ${version}.3"\n`
    await writeFile(join(programs, program), script, { mode: 0o755 })
  }
  return programs
}

test('a POSTGRES_BIN without PostgreSQL is an error, not a reason to use another one', async () => {
  vi.stubEnv('POSTGRES_BIN', folder)
  await expect(ensurePostgresServer()).rejects.toThrow(
    `POSTGRES_BIN is set to ${folder}: its postgres does not run as PostgreSQL's`,
  )
})

test('a POSTGRES_BIN with only a part of the programs is an error', async () => {
  vi.stubEnv('POSTGRES_BIN', await fakePrograms('half', { postgres: 17 }))
  await expect(ensurePostgresServer()).rejects.toThrow('its initdb does not run')
})

test('a POSTGRES_BIN of an older version than 15 is refused', async () => {
  const versions = { postgres: 14, initdb: 14, pg_basebackup: 14 }
  vi.stubEnv('POSTGRES_BIN', await fakePrograms('old', versions))
  await expect(ensurePostgresServer()).rejects.toThrow(
    'its postgres is PostgreSQL 14, 15 or later is needed',
  )
})

test('a link on PATH leads to the folder of all programs, past an older version', async () => {
  const versions = { postgres: 14, initdb: 14, pg_basebackup: 14 }
  const old = await fakePrograms('old', versions)
  const current = await fakePrograms('current', { postgres: 99, initdb: 99, pg_basebackup: 99 })
  const links = join(folder, 'links')
  await mkdir(links)
  await symlink(join(current, 'postgres'), join(links, 'postgres'))
  vi.stubEnv('POSTGRES_BIN', '')
  vi.stubEnv('PATH', `${old}:${links}:/usr/bin:/bin`)
  expect(await ensurePostgresServer()).toBe(current)
})

test('the programs that are found run', async () => {
  const { stdout } = await run(join(await ensurePostgresServer(), 'initdb'), ['--version'])
  expect(stdout).toMatch(/PostgreSQL\) \d+/)
})

test('without root only what the machine lacks and the server needs is unpacked', () => {
  const simulation = `NOTE: This is only a simulation!
Inst libjson-perl (4.10000-1 Debian:12.15/oldstable [all])
Inst postgresql-common (248+deb12u2 Debian-Security:12/oldstable-security [all])
Inst libssl3 [3.0.17-1] (3.0.22-1 Debian-Security:12/oldstable-security [amd64])
Inst libicu72 (72.1-3+deb12u1 Debian:12.15/oldstable [amd64]) []
Inst libllvm14 (1:14.0.6-12 Debian:12.15/oldstable [amd64])
Inst libpq5 (15.20-0+deb12u1 Debian-Security:12/oldstable-security [amd64])
Inst postgresql-client-15 (15.20-0+deb12u1 Debian-Security:12 [amd64])
Inst postgresql-15 (15.20-0+deb12u1 Debian-Security:12 [amd64])
Inst postgresql (15+248+deb12u2 Debian-Security:12/oldstable-security [all])
Conf libpq5 (15.20-0+deb12u1 Debian-Security:12/oldstable-security [amd64])
`
  expect(missingPackages(simulation)).toEqual([
    'libicu72',
    'libpq5',
    'postgresql-client-15',
    'postgresql-15',
  ])
})
