import { USAGE, parseDemoOptions, type DemoOptions } from './demo-options.ts'
import { provideRedis } from './provide-redis.ts'
import { provideStore } from './provide-store.ts'
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
  const say = (line: string): void => screen.say(line)
  await using store = await provideStore(options, say)
  await using redis = await provideRedis(options, say)
  const { cities, pacePerSecond, writesPerSecond } = options
  return await runDemo(
    { where: store.where, redisUrl: redis.url, cities, pacePerSecond, writesPerSecond },
    screen,
  )
}
