import { type Logger } from '@tidemark/contracts'
import { EMULATOR_KEY } from '@tidemark/contracts/internal'
import {
  CosmosConnection,
  CosmosDocumentCollection,
  openChangeFeed,
} from '@tidemark/gateway/client'
import { DocumentLeaseStore } from '@tidemark/processor'
import type { CommandContext } from '../command-context.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import { Interruption } from '../interruption.ts'
import { writeText } from '../output/json-lines.ts'
import { DEMO } from './demo-database.ts'
import { demoWorker, startWorker } from './demo-work.ts'
import { untilAborted } from './serve-store.ts'

/** Another worker for the demo of a `tidemark dev` that runs, over HTTP. Rejects as the connection does. */
export async function joinDemo(
  { endpoint, logger }: { readonly endpoint: string; readonly logger: Logger | undefined },
  { output }: CommandContext,
): Promise<ExitCode> {
  using interruption = new Interruption()
  const { signal } = interruption
  const connection = new CosmosConnection({ endpoint, key: EMULATOR_KEY })
  const { database, visits, leases } = DEMO
  const host = demoWorker({
    logger,
    feed: await openChangeFeed(connection, { database, container: visits }),
    leases: new DocumentLeaseStore(
      new CosmosDocumentCollection(connection, { database, container: leases }),
    ),
  })
  host.on('rebalanced', ({ hosts, leases: all, mine }) => {
    const share = `${mine} of ${all} ranges, in a group of ${hosts}`
    void writeText(output, `works on ${share}; end with Ctrl-C\n`)
  })
  await startWorker(host)
  await untilAborted(signal)
  await host.unregisterObservers()
  return EXIT.ok
}
