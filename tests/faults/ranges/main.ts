import { parseArgs } from 'node:util'
import { ensureRedisServer, startRedisServer } from '@tidemark/testing/servers'
import { runRangeFaults } from './run-range-faults.ts'

const USAGE = `usage: npm run faults -- [--minutes N] [--leases documents|redis]

Splits and merges ranges under four hosts and a writer, and kills hosts and the process that splits.

  --minutes N     how long             (default 1)
  --leases KIND   where leases are     (default documents)

Exit code 1 if a change was lost, out of order, or dispatched by a stale owner.`

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    leases: { type: 'string', default: 'documents' },
    help: { type: 'boolean', default: false },
  },
})
const minutes = Number(values.minutes)
if (values.help || !(minutes > 0) || !['documents', 'redis'].includes(values.leases)) {
  console.error(USAGE)
  process.exit(values.help ? 0 : 2)
}

const redis = values.leases === 'redis' ? await startRedis() : undefined
try {
  const { happened, faults } = await runRangeFaults({
    durationMs: minutes * 60_000,
    redisPort: redis?.port,
  })
  for (const fault of faults) console.error(fault)
  const absent = Object.entries(happened).filter(([, count]) => count === 0)
  for (const [what] of absent) console.error(`nothing was shown: 0 ${what}`)
  if (faults.length > 0 || absent.length > 0) process.exitCode = 1
  const counts = Object.entries(happened).map(([what, count]) => `${count} ${what}`)
  console.log(`${counts.join(', ')}, ${faults.length} faults`)
} finally {
  await redis?.stop()
}

async function startRedis(): ReturnType<typeof startRedisServer> {
  process.env['REDIS_SERVER_BIN'] = await ensureRedisServer({ onProgress: console.log })
  return startRedisServer()
}
