import { join } from 'node:path'
import { startPostgresServer } from '@tidemark/testing/servers'
import { oneOf, whole } from '../../scripts/command-line/read-arguments.ts'
import { runCampaign } from '../campaign/run-campaign.ts'
import { runCompeting } from './run-competing.ts'

await runCampaign({
  name: 'competing',
  usage: `usage: npm run competing -- [--messages N] [--processes N] [--engine NAME] [--seed N]

Processes compete for messages of a queue, and of one with sessions. They abandon messages or let locks end, and
meanwhile they are killed and replaced, or stopped for longer than their locks last. Ends when all messages are gone.

  --messages N    how many                 (default 100000)
  --processes N   how many compete         (default 8)
  --engine NAME   sqlite or postgres       (default sqlite)

Exit code 1 if a message was lost, completed twice or under two locks at once, if a delivery count is wrong, or if a
session's order was broken.`,
  options: {
    messages: whole(1, 100_000),
    processes: whole(1, 8),
    engine: oneOf(['sqlite', 'postgres'], 'sqlite'),
  },
  async run({ messages, processes, engine }, { folder, seed }) {
    await using server = engine === 'postgres' ? await startPostgresServer() : undefined
    const place =
      server === undefined
        ? ({ kind: 'folder', folder: join(folder, 'store'), durability: 'sync' } as const)
        : ({ kind: 'postgres', url: await server.createDatabase() } as const)
    const result = await runCompeting({ messages, processes, seed, folder, place })
    const { faults, counts, kills, stops, seconds } = result
    return {
      wrong: faults,
      summary:
        `${messages} messages, ${processes} processes: ${counts.completed} completions acknowledged in ${seconds} s, ` +
        `${counts.redelivered} messages redelivered, ${counts.abandoned} abandoned, ${counts.lost} settled too late, ` +
        `${kills} kills, ${stops} stops, ${faults.length} faults`,
    }
  },
})
