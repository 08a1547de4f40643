import { parseArgs } from 'node:util'
import { openLeaseStores, type LeaseStoreKind } from './lease-stores.ts'
import { runBalance } from './scenarios.ts'

const USAGE = `usage: npm run balance -- [--hosts N] [--leases N] [--store KIND] [--redis-url URL]
                         [--idle-seconds N] [--two-leases N]

  --hosts N         hosts of the fleet                              (default 20)
  --leases N        leases of the fleet                             (default 1000)
  --store KIND      redis, documents or memory: where leases are kept (default redis)
  --redis-url URL   a Redis to use instead of one started for this
  --idle-seconds N  how long the idle fleet is watched              (default 10)
  --two-leases N    leases of the scenario one-to-two               (default 64)`

const KINDS: readonly LeaseStoreKind[] = ['redis', 'documents', 'memory']

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      hosts: { type: 'string', default: '20' },
      leases: { type: 'string', default: '1000' },
      store: { type: 'string', default: 'redis' },
      'redis-url': { type: 'string' },
      'idle-seconds': { type: 'string', default: '10' },
      'two-leases': { type: 'string', default: '64' },
    },
  })
  const kind = KINDS.find((candidate) => candidate === values.store)
  if (kind === undefined) throw new UsageError(`--store must be one of ${KINDS.join(', ')}`)
  const opened = await openLeaseStores(kind, values['redis-url'])
  await using stores = opened.stores
  await runBalance(
    {
      hosts: whole('--hosts', values.hosts),
      leases: whole('--leases', values.leases),
      leasesOfTwo: whole('--two-leases', values['two-leases']),
      idleSeconds: whole('--idle-seconds', values['idle-seconds']),
      stores,
      countCommands: opened.countCommands,
    },
    (line) => console.log(JSON.stringify(line)),
  )
}

class UsageError extends Error {
  override readonly name = 'UsageError'
}

function whole(option: string, text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value) || value < 1) {
    throw new UsageError(`${option} must be a whole number above 0, got ${text}`)
  }
  return value
}

try {
  await main()
  // A killed host has timers and calls that nobody can end but the process.
  process.exit()
} catch (error) {
  console.error(error instanceof UsageError ? `${error.message}\n\n${USAGE}` : error)
  process.exitCode = 1
}
