import { oneOf, readArguments, text, whole } from '../../scripts/command-line/read-arguments.ts'
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
  const { values } = readArguments(USAGE, {
    hosts: whole(1, 20),
    leases: whole(1, 1000),
    store: oneOf(KINDS, 'redis'),
    'redis-url': text(),
    'idle-seconds': whole(1, 10),
    'two-leases': whole(1, 64),
  })
  const opened = await openLeaseStores(values.store, values['redis-url'])
  await using stores = opened.stores
  await runBalance(
    {
      hosts: values.hosts,
      leases: values.leases,
      leasesOfTwo: values['two-leases'],
      idleSeconds: values['idle-seconds'],
      stores,
      countCommands: opened.countCommands,
    },
    (line) => console.log(JSON.stringify(line)),
  )
}

try {
  await main()
  // A killed host has timers and calls that nobody can end but the process.
  process.exit()
} catch (error) {
  console.error(error)
  process.exitCode = 1
}
