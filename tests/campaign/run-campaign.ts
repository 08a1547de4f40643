import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readArguments, whole, type Option } from '../../scripts/command-line/read-arguments.ts'

type Options = Readonly<Record<string, Option<unknown>>>
type ValuesOf<O extends Options> = { readonly [Name in keyof O]: O[Name]['default'] }

/** What a campaign is given. */
export interface CampaignRun {
  readonly seed: number
  /** For stores and journals; removed afterwards, unless something is wrong. */
  readonly folder: string
  readonly report: (line: string) => void
}

/** The outcome. */
export interface CampaignVerdict {
  /** Faults, and what should have happened and did not: one line each. Empty if all is well. */
  readonly wrong: readonly string[]
  /** The last line. */
  readonly summary: string
}

export interface Campaign<O extends Options> {
  /** Of its script in package.json. */
  readonly name: string
  /** `--seed` is described after it. */
  readonly usage: string
  readonly options: O
  readonly check?: (values: ValuesOf<O>) => void
  readonly run: (values: ValuesOf<O>, run: CampaignRun) => Promise<CampaignVerdict>
}

const SEED_USAGE = '\n\n  --seed N  for everything random (default: random, printed)'

/**
 * Runs the campaign that this process is for: reads its arguments, prints its seed, and ends with 1 when something is wrong, after the
 * command that repeats it.
 */
export async function runCampaign<O extends Options>({
  name,
  usage,
  options,
  check,
  run,
}: Campaign<O>): Promise<void> {
  const seeded = { ...options, seed: whole(0, Math.floor(Math.random() * 1_000_000)) }
  const { values } = readArguments(
    `${usage}${SEED_USAGE}`,
    seeded,
    check === undefined ? {} : { check: (given) => check(given as ValuesOf<O>) },
  )
  const { seed } = values as { readonly seed: number }
  console.log(`seed ${seed}`)
  const folder = await mkdtemp(join(tmpdir(), `tidemark-${name}-`))
  try {
    const verdict = await run(values as ValuesOf<O>, { seed, folder, report: console.log })
    for (const line of verdict.wrong) console.error(line)
    if (verdict.wrong.length > 0) failed(name, { seed, folder })
    console.log(verdict.summary)
  } catch (error) {
    console.error(error)
    failed(name, { seed, folder })
    console.error(`${name}: ${error instanceof Error ? error.message : String(error)}`)
  }
  if (process.exitCode !== 1) await rm(folder, { recursive: true, force: true })
}

/** Prints the command that repeats the run, and the folder that it left. */
function failed(
  name: string,
  { seed, folder }: { readonly seed: number; readonly folder: string },
): void {
  const given = process.argv.slice(2)
  const again = given.some((arg) => arg.startsWith('--seed')) ? given : [...given, '--seed', seed]
  console.error(`again: npm run ${name} -- ${again.join(' ')}`)
  console.error(`kept: ${folder}`)
  process.exitCode = 1
}
