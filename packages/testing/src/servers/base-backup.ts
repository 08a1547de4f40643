import { execFile } from 'node:child_process'
import { appendFile, chown, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'
import { runAs } from './postgres-data-folder.ts'

const run = promisify(execFile)

/**
 * Makes `data` a standby of a primary on this machine, as `pg_basebackup` does: for servers that come without that
 * program.
 */
export async function copyPrimary(
  { host, port }: { readonly host: string; readonly port: number },
  data: string,
): Promise<void> {
  const client = new Client({ host, port, user: 'postgres', database: 'postgres' })
  await client.connect()
  try {
    const { rows } = await client.query<{ folder: string }>(
      `SELECT current_setting('data_directory') AS folder, pg_backup_start('standby', true)`,
    )
    await copyWhileWritten(rows[0]?.folder ?? '', data)
    const ended = await client.query<{ labelfile: string }>(
      'SELECT labelfile FROM pg_backup_stop(false)',
    )
    await writeOwned(join(data, 'backup_label'), ended.rows[0]?.labelfile ?? '')
  } finally {
    await client.end()
  }
  await rm(join(data, 'postmaster.pid'), { force: true })
  await writeOwned(join(data, 'standby.signal'), '')
  const primary = `host=${host} port=${port} user=postgres`
  await appendFile(join(data, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
}

/** Files may go while they are copied: the log that is replayed makes up for them. */
async function copyWhileWritten(from: string, to: string): Promise<void> {
  try {
    await run('cp', ['-a', `${from}/.`, to], runAs())
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string }
    const others = stderr.split('\n').filter((line) => !/^$|No such file or directory/.test(line))
    if (others.length > 0) throw error
  }
}

async function writeOwned(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 })
  const { uid, gid } = runAs()
  if (uid !== undefined && gid !== undefined) await chown(file, uid, gid)
}
