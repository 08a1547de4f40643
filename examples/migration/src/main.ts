import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { USAGE, parseDemoOptions, type DemoOptions } from './demo-options.ts'
import { provideRedis } from './provide-redis.ts'
import { runDemo } from './run-demo.ts'
import { Screen } from './screen.ts'

const screen = new Screen(process.stdout)
try {
  const options = parseDemoOptions(process.argv.slice(2))
  if (options === undefined) screen.say(USAGE)
  else process.exitCode = await demo(options)
} catch (error) {
  console.error(`demo: ${error instanceof Error ? error.message : String(error)}`)
  process.exitCode = 1
}

async function demo(options: DemoOptions): Promise<number> {
  const folder = options.folder ?? (await mkdtemp(join(tmpdir(), 'tidemark-demo-')))
  await using redis = await provideRedis(options, (line) => screen.say(line))
  try {
    const { cities, pacePerSecond, writesPerSecond } = options
    return await runDemo(
      { folder, redisUrl: redis.url, cities, pacePerSecond, writesPerSecond },
      screen,
    )
  } finally {
    if (options.folder === undefined) await rm(folder, { recursive: true, force: true })
  }
}
