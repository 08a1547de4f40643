import { SeededRandom } from '@tidemark/testing/simulation'
import {
  AMQP_HEADER,
  frames,
  message,
  SASL_HEADER,
  SASL_INIT,
  saslFrame,
  source,
  value,
} from './raw-client.ts'
import { sequenceSeed } from '../../model/sequence-seed.ts'
import { SERVED_KEY } from '../../gateway/signed-request.ts'
import type { Conversation } from './conversation.ts'
import { attach, randomFrame } from './random-frames.ts'
import { bytesOf, randomValue } from './random-values.ts'

const LOG_IN = Buffer.from(`\0RootManageSharedAccessKey\0${SERVED_KEY}`)
/** Share of clients that show the key: others get to `$cbs` only. */
const KNOWN = 0.85

/** Conversation number `index` of a seed: always the same. */
export function generateConversation(seed: number, index: number): Conversation {
  const random = new SeededRandom(sequenceSeed(seed, index))
  const steps = random.pick([noise, randomTalk, randomTalk, damagedTalk, damagedTalk])(random)
  const length = random.chance(0.3) ? 1 + random.below(steps.length) : steps.length
  return {
    steps: steps.slice(0, length),
    afterwards: random.chance(0.5) ? 'leave' : 'finish',
  }
}

/** Hardly any AMQP. */
function noise(random: SeededRandom): readonly Buffer[] {
  const header = random.pick([
    SASL_HEADER,
    AMQP_HEADER,
    bytesOf(random, 8),
    Buffer.from('GET / HT'),
  ])
  const init = saslFrame(SASL_INIT, [
    value.symbol(
      random.pick(['ANONYMOUS', 'MSSBCBS', 'PLAIN', 'EXTERNAL', '__proto__', 'toString']),
    ),
    randomValue(random),
  ])
  return [
    Buffer.concat([header, random.chance(0.5) ? init : bytesOf(random, random.below(100))]),
    bytesOf(random, random.below(300)),
  ]
}

/** Into a session with a few links, and then anything. */
function randomTalk(random: SeededRandom): readonly Buffer[] {
  return [
    ...opening(random),
    Buffer.concat([attach(random, 0), attach(random, 0), attach(random, 0)]),
    ...Array.from({ length: 1 + random.below(6) }, () =>
      Buffer.concat(Array.from({ length: 1 + random.below(5) }, () => randomFrame(random, 0))),
    ),
  ]
}

/** What a good client says, of which something is lost, repeated, in another place, or has other bytes. */
function damagedTalk(random: SeededRandom): readonly Buffer[] {
  const steps = [...opening(random), ...goodTalk()]
  for (let damages = random.below(4); damages > 0; damages--) {
    const at = random.below(steps.length)
    steps.splice(at, 1, ...damage(random, steps[at]!))
  }
  return steps
}

function opening(random: SeededRandom): Buffer[] {
  const isKnown = random.chance(KNOWN)
  const init = isKnown
    ? [value.symbol('PLAIN'), value.binary(LOG_IN)]
    : [value.symbol('ANONYMOUS'), value.binary(Buffer.alloc(0))]
  const limits = random.chance(0.8)
    ? []
    : [randomValue(random), randomValue(random), randomValue(random)]
  const sasl = Buffer.concat([SASL_HEADER, saslFrame(SASL_INIT, init)])
  const amqp = Buffer.concat([AMQP_HEADER, frames.open(limits), frames.begin(0)])
  return random.chance(0.5) ? [sasl, amqp] : [Buffer.concat([sasl, amqp])]
}

/** Sends in one piece and in several, receives, settles, drains and leaves. */
function goodTalk(): Buffer[] {
  const accepted = value.described(0x24, value.list())
  return [
    Buffer.concat([frames.attachSender(0, 0, 'fuzz'), frames.attachReceiver(0, 1, source('fuzz'))]),
    Buffer.concat([
      frames.transfer(0, 0, 0, message('whole')),
      frames.transfer(0, 0, 1, message('in pieces').subarray(0, 5), true),
    ]),
    frames.transfer(0, 0, 1, message('in pieces').subarray(5)),
    frames.flow(0, { handle: 1, credit: 2 }),
    Buffer.concat([
      frames.disposition(0, { first: 0, last: 1, state: accepted, settled: false }),
      frames.flow(0, { handle: 1, credit: 5, drain: true }),
    ]),
    frames.detach(0, 1),
    Buffer.concat([frames.detach(0, 0), frames.end(0), frames.close()]),
  ]
}

function damage(random: SeededRandom, step: Buffer): readonly Buffer[] {
  const at = random.below(step.length)
  return random.pick<() => readonly Buffer[]>([
    () => [],
    () => [step, step],
    () => [step.subarray(0, at)],
    () => [step.subarray(0, at), step.subarray(at)],
    () => [
      Buffer.concat([
        step.subarray(0, at),
        bytesOf(random, 1 + random.below(4)),
        step.subarray(at),
      ]),
    ],
    () => [Buffer.concat([step.subarray(0, at), step.subarray(at + 1 + random.below(4))])],
    () => {
      const changed = Buffer.from(step)
      for (let times = 1 + random.below(4); times > 0; times--) {
        changed[random.below(changed.length)] = random.below(256)
      }
      return [changed]
    },
  ])()
}
