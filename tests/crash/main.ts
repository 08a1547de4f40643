import { flag, oneOf, UsageError, whole } from '../../scripts/command-line/read-arguments.ts'
import { runCampaign, type CampaignVerdict } from '../campaign/run-campaign.ts'
import { runAmqp } from './amqp/run-amqp.ts'
import { FolderScene } from './crash-scene.ts'
import { runFeatures } from './features/run-features.ts'
import { runGateway } from './gateway/run-gateway.ts'
import { runMessaging } from './messaging/run-messaging.ts'
import { PostgresScene } from './postgres/postgres-scene.ts'
import { runPower } from './power/run-power.ts'
import { runPlain } from './run-plain.ts'

const USAGE = `usage: npm run crash -- [--rounds N] [--engine NAME] [--features all] [--gateway] [--messaging] [--amqp]
                          [--power] [--seed N]

Kills writing processes with SIGKILL over and over and looks for what they had acknowledged. On PostgreSQL, a
durable server of its own, rounds end in turn by their death alone, after ended connections, after an immediate
restart of the server, and after SIGKILL of the server.

  --rounds N      how many kills           (default 50)
  --engine NAME   sqlite or postgres       (default sqlite); with plain writes, --features and --messaging
  --features all  with time to live, pending deletes, the log of all versions, splits, merges and
                  background maintenance   (default: plain writes)
  --gateway       kills tidemark serve, while clients write over HTTP
  --messaging     kills processes that send messages, alone and with documents, receive, settle and schedule
  --amqp          kills a server of AMQP under eight official clients, which connect again
  --power         kills writing processes and the machine: files keep what was synced (Linux; needs a C compiler)

Exit code 1 if anything was lost or does not agree, or if something to be shown never happened.`

await runCampaign({
  name: 'crash',
  usage: USAGE,
  options: {
    rounds: whole(1, 50),
    features: oneOf(['all']),
    gateway: flag(),
    messaging: flag(),
    amqp: flag(),
    power: flag(),
    engine: oneOf(['sqlite', 'postgres'], 'sqlite'),
  },
  check({ gateway, messaging, amqp, power, features, engine }) {
    const chosen = [gateway, messaging, amqp, power, features !== undefined].filter(Boolean)
    if (chosen.length > 1)
      throw new UsageError('--features, --gateway, --messaging, --amqp, --power: one at a time')
    if (engine !== 'sqlite' && (gateway || amqp || power))
      throw new UsageError('--gateway, --amqp and --power go with --engine sqlite')
  },
  async run({ gateway, messaging, amqp, power, features, engine, rounds }, given) {
    const run = { ...given, rounds }
    if (gateway) return verdict(await runGateway(run))
    if (amqp) return verdict(await runAmqp(run))
    if (power) {
      // What was not synced may be lost.
      const { faults, summary } = await runPower(run)
      return verdict({ faults, summary })
    }
    const crash = messaging ? runMessaging : features === undefined ? runPlain : runFeatures
    if (engine === 'sqlite')
      return verdict(await crash({ ...run, scene: new FolderScene(run.folder) }))
    await using scene = await PostgresScene.start()
    return verdict(await crash({ ...run, scene }))
  },
})

interface Counted {
  readonly summary: string
  readonly lost?: number
  readonly twice?: number
  readonly indexFaults?: number
  readonly faults?: number | readonly string[]
  /** What never happened. */
  readonly missing?: readonly string[]
}

function verdict({ summary, missing = [], faults = 0, ...counts }: Counted): CampaignVerdict {
  const found = typeof faults === 'number' ? { faults } : {}
  return {
    wrong: [
      ...Object.entries({ ...counts, ...found }).flatMap(([what, count]) =>
        count > 0 ? [`${count} ${what}`] : [],
      ),
      ...(typeof faults === 'number' ? [] : faults),
      ...missing.map((what) => `nothing was shown: 0 ${what}`),
    ],
    summary,
  }
}
