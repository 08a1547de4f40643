import { startPostgresProcess } from './postgres-process.ts'

// Starts one server that runs and one that is paused, tells their processes and folders, and is killed: no exit listener runs.

const running = await startPostgresProcess()
const paused = await startPostgresProcess()
const read = 'SELECT pid FROM pg_stat_activity'
const rows = [...(await running.query(read)), ...(await paused.query(read))]
await paused.pause()
const pids = [running.pid, paused.pid, ...rows.map(({ pid }) => Number(pid))]
const folders = [running.folder, paused.folder]
process.stdout.write(JSON.stringify({ pids, folders }), () => process.kill(process.pid, 'SIGKILL'))
