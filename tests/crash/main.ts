import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  flag,
  oneOf,
  readArguments,
  text,
  UsageError,
  whole,
} from '../../scripts/command-line/read-arguments.ts'
import { runAmqp } from './amqp/run-amqp.ts'
import { FolderScene, type CrashScene } from './crash-scene.ts'
import { runFeatures } from './features/run-features.ts'
import { runGateway } from './gateway/run-gateway.ts'
import { runMessaging } from './messaging/run-messaging.ts'
import { PostgresScene } from './postgres/postgres-scene.ts'
import { runPower } from './power/run-power.ts'
import { runPlain } from './run-plain.ts'

const USAGE = `usage: npm run crash -- [--rounds N] [--engine NAME] [--features all] [--gateway] [--messaging] [--amqp]
                          [--power] [--seed N] [--folder PATH]

Kills writing processes with SIGKILL over and over and looks for what they had acknowledged. On PostgreSQL, a
durable server of its own, rounds end in turn by their death alone, after ended connections, after an immediate
restart of the server, and after SIGKILL of the server.

  --rounds N      how many kills           (default 50)
  --engine NAME   sqlite or postgres       (default sqlite)
  --features all  with time to live, pending deletes, the log of all versions, splits, merges and
                  background maintenance   (default: plain writes)
  --gateway       kills tidemark serve, while clients write over HTTP
  --messaging     kills processes that send messages, alone and with documents, receive, settle and schedule
  --amqp          kills a server of AMQP under eight official clients, which connect again
  --power         kills writing processes and the machine: files keep what was synced (Linux; needs a C compiler)
  --seed N        of what is written       (default: random, printed)
  --folder PATH   made anew, left behind   (default: a temporary one, removed); of a server only the logs

Exit code 1 if anything was lost or does not agree, or if something to be shown never happened.`

const { values } = readArguments(
  USAGE,
  {
    rounds: whole(1, 50),
    features: oneOf(['all']),
    gateway: flag(),
    messaging: flag(),
    amqp: flag(),
    power: flag(),
    engine: oneOf(['sqlite', 'postgres'], 'sqlite'),
    seed: whole(0, Math.floor(Math.random() * 1_000_000)),
    folder: text(),
  },
  {
    check({ gateway, messaging, amqp, power, features, engine }) {
      if (
        power &&
        (amqp || messaging || gateway || features !== undefined || engine !== 'sqlite')
      ) {
        throw new UsageError('--power goes without the others, and with --engine sqlite')
      }
      if (amqp && (messaging || gateway || features !== undefined || engine !== 'sqlite')) {
        throw new UsageError('--amqp goes without the others, and with --engine sqlite')
      }
      if (messaging && (gateway || features !== undefined)) {
        throw new UsageError('--messaging goes without --gateway and --features')
      }
      if (!gateway || (features === undefined && engine === 'sqlite')) return
      throw new UsageError('--gateway goes without --features, and with --engine sqlite')
    },
  },
)
const { rounds, seed } = values

const folder = values.folder ?? (await mkdtemp(join(tmpdir(), 'tidemark-crash-')))
try {
  if (values.gateway) await crashGateway()
  else if (values.amqp) await crashAmqp()
  else if (values.power) await crashPower()
  else if (values.engine === 'postgres') {
    await using scene = await PostgresScene.start()
    await crash(scene)
  } else await crash(new FolderScene(folder))
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  if (values.folder === undefined) await rm(folder, { recursive: true, force: true })
}

async function crash(scene: CrashScene): Promise<void> {
  const run = { folder, seed, rounds, report: console.log, scene }
  if (values.messaging) await crashMessaging(run)
  else if (values.features === 'all') await crashFeatures(run)
  else await crashPlain(run)
}

async function crashPlain(run: Parameters<typeof runPlain>[0]): Promise<void> {
  const { lost, indexFaults, summary } = await runPlain(run)
  if (lost > 0 || indexFaults > 0) process.exitCode = 1
  console.log(summary)
}

async function crashGateway(): Promise<void> {
  const { lost, indexFaults, summary } = await runGateway({
    folder,
    seed,
    rounds,
    report: console.log,
  })
  if (lost > 0 || indexFaults > 0) process.exitCode = 1
  console.log(summary)
}

async function crashAmqp(): Promise<void> {
  const { lost, twice, faults, summary } = await runAmqp({
    folder,
    seed,
    rounds,
    report: console.log,
  })
  if (lost > 0 || twice > 0 || faults > 0) process.exitCode = 1
  if (faults > 0) console.error(`${faults} faults in numbers, sessions or rows`)
  console.log(summary)
}

async function crashPower(): Promise<void> {
  const { faults, summary } = await runPower({ folder, seed, rounds, report: console.log })
  if (faults.length > 0) process.exitCode = 1
  console.log(summary)
}

async function crashFeatures(run: Parameters<typeof runFeatures>[0]): Promise<void> {
  const { lost, faults, missing, summary } = await runFeatures(run)
  if (lost > 0 || faults > 0 || missing.length > 0) process.exitCode = 1
  for (const what of missing) console.error(`nothing was shown: 0 ${what}`)
  console.log(summary)
}

async function crashMessaging(run: Parameters<typeof runMessaging>[0]): Promise<void> {
  const { lost, twice, faults, summary } = await runMessaging(run)
  if (lost > 0 || twice > 0 || faults > 0) process.exitCode = 1
  if (faults > 0) console.error(`${faults} faults in numbers, sessions, documents or rows`)
  console.log(summary)
}
