import type { RedisServerClient } from '@tidemark/lease-redis'
import type { Redis } from 'ioredis'
import type { ScriptMutant } from './script-mutants.ts'

/**
 * A client that changes a script on its way to the server. The store sends a script whole when the server does not
 * know it, so this one never does.
 */
export class MutatingClient {
  /** Scripts that went out changed. */
  changed = 0
  readonly #redis: Redis
  readonly #mutant: ScriptMutant
  readonly #texts = new Map<string, string>()

  constructor(redis: Redis, mutant: ScriptMutant) {
    this.#redis = redis
    this.#mutant = mutant
  }

  client(): RedisServerClient {
    const redis = this.#redis
    return {
      get status() {
        return redis.status
      },
      evalsha: () => Promise.reject(new Error('NOSCRIPT whole scripts only')),
      eval: (script, keyCount, ...keysAndArgs) =>
        redis.eval(this.#mutated(script), keyCount, ...keysAndArgs),
      sadd: (key, ...members) => redis.sadd(key, ...members),
      smembers: (key) => redis.smembers(key),
      hlen: (key) => redis.hlen(key),
      call: (command, ...args) => redis.call(command, ...args),
      duplicate: (options) => redis.duplicate(options),
    }
  }

  #mutated(script: string): string {
    let text = this.#texts.get(script)
    if (text === undefined) {
      text = this.#change(script)
      this.#texts.set(script, text)
    }
    if (text !== script) this.changed += 1
    return text
  }

  #change(script: string): string {
    const { script: name, find, replace } = this.#mutant
    // The prelude and the script each begin with a comment, the script's with its name.
    const start = name === 'prelude' ? 0 : script.indexOf(`\n-- ${name}: `)
    if (start < 0) return script
    const [before, rest] = [script.slice(0, start), script.slice(start)]
    if (!rest.includes(find)) throw new Error(`${name}.lua has no ${find}`)
    return before + rest.replaceAll(find, () => replace)
  }
}
