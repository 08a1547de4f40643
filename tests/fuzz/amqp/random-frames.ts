import type { SeededRandom } from '@tidemark/testing/simulation'
import {
  ATTACH,
  DETACH,
  DISPOSITION,
  EMPTY_FRAME,
  frame,
  frameOf,
  frames,
  message,
  source,
  target,
  tokenMessage,
  TRANSFER,
  value,
} from './raw-client.ts'
import { ADDRESSES, bytesOf, randomUint, randomValue } from './random-values.ts'

const PERFORMATIVES = Array.from({ length: 9 }, (_, at) => 0x10 + at)
/** Few, so that frames are about sessions and links that there are. */
const HANDLES = 4

/** A frame that says something about the links of a conversation, or nonsense. */
export function randomFrame(random: SeededRandom, channel: number): Buffer {
  return random.pick(SENSE)(random, random.chance(0.95) ? channel : random.below(65_536))
}

type Say = (random: SeededRandom, channel: number) => Buffer

const SENSE: readonly Say[] = [
  (random, channel) => transfer(random, channel),
  (random, channel) => transfer(random, channel),
  (random, channel) => flow(random, channel),
  (random, channel) => flow(random, channel),
  (random, channel) => disposition(random, channel),
  (random, channel) => attach(random, channel),
  (random, channel) => frame(channel, DETACH, [value.uint(random.below(HANDLES)), value.true]),
  (random, channel) => frames.begin(channel, randomUint(random)),
  (_random, channel) => frames.end(channel),
  () => EMPTY_FRAME,
  () => frames.close(),
  (random, channel) => {
    const fields = Array.from({ length: random.below(12) }, () => randomValue(random))
    return frame(channel, random.pick(PERFORMATIVES), fields, bytesOf(random, random.below(3)))
  },
  (random, channel) =>
    frameOf({ type: random.below(3), channel, body: [bytesOf(random, random.below(60))] }),
]

export function attach(random: SeededRandom, channel: number): Buffer {
  const handle = random.below(HANDLES)
  const address = random.pick(ADDRESSES)
  const name = random.chance(0.8)
    ? `l${channel}-${handle}-${random.below(1000)}`
    : random.pick(ADDRESSES)
  if (random.chance(0.1)) {
    const coordinator = value.described(0x30, value.list(value.symbol('amqp:local-transactions')))
    return frames.attachSender(channel, handle, coordinator, name)
  }
  if (random.chance(0.4)) return frames.attachSender(channel, handle, address, name)
  const filter = value.map(
    value.symbol('com.microsoft:session-filter'),
    random.chance(0.7) ? value.string(`s${random.below(5)}`) : randomValue(random),
  )
  const from = random.chance(0.7)
    ? source(address)
    : source(
        address,
        value.null,
        value.null,
        value.null,
        value.null,
        value.null,
        value.null,
        filter,
      )
  return frame(channel, ATTACH, [
    value.string(name),
    value.uint(handle),
    value.true,
    value.ubyte(random.below(3)),
    value.ubyte(random.below(2)),
    from,
    target('fuzz'),
    value.null,
    value.null,
    value.null,
    value.null,
    value.null,
    value.null,

    value.map(value.symbol('com.microsoft:timeout'), value.uint(random.below(200))),
  ])
}

function transfer(random: SeededRandom, channel: number): Buffer {
  const [handle, id] = [random.below(HANDLES), random.below(5)]
  const more = random.chance(0.3)
  const payload = random.pick([
    () => message('x'.repeat(random.pick([1, 10, 1000, 20_000]))),
    () => tokenMessage('SharedAccessSignature sr=x&sig=y&se=9999999999&skn=z', 'x', 'r0'),
    () => managementRequest(random),
    () => control(random),
    () =>
      Buffer.concat([value.described(0x70 + random.below(9), randomValue(random)), message('x')]),
    () => randomValue(random),
    () => Buffer.alloc(0),
  ])()
  if (random.chance(0.7)) return frames.transfer(channel, handle, id, payload, more)
  const flag = (share: number): Buffer => (random.chance(share) ? value.true : value.false)
  return frame(
    channel,
    TRANSFER,
    [
      value.uint(handle),
      random.chance(0.8) ? value.uint(id) : value.null,
      value.binary(bytesOf(random, random.below(40))),
      value.uint(random.pick([0, 1, 2147563264])),
      flag(0.5),
      flag(0.3),
      value.null,
      random.pick([() => value.null, () => inTransaction(random), () => randomValue(random)])(),
      flag(0.1),
      flag(0.3),
    ],
    payload,
  )
}

const OPERATIONS = [
  'peek-message',
  'renew-lock',
  'schedule-message',
  'cancel-scheduled-message',
  'add-rule',
  'receive-by-sequence-number',
  'update-disposition',
  'renew-session-lock',
  'remove-rule',
  'set-session-state',
  'get-session-state',
  'get-message-sessions',
  'enumerate-rules',
  'x',
].map((name) => `com.microsoft:${name}`)
const KEYS = [
  'from-sequence-number',
  'message-count',
  'lock-tokens',
  'sequence-numbers',
  'session-id',
  'messages',
  'message',
  'top',
  'skip',
  'rule-name',
  'rule-description',
  'session-state',
  'last-updated-time',
  'disposition-status',
  'properties-to-modify',
  'receiver-settle-mode',
]

function managementRequest(random: SeededRandom): Buffer {
  const entries = Array.from({ length: random.below(5) }, () => [
    value.string(random.pick(KEYS)),
    randomValue(random),
  ])
  const properties = [
    random.chance(0.8) ? value.string('id') : randomValue(random),
    value.null,
    value.null,
    value.null,

    random.chance(0.8) ? value.string('fuzz') : randomValue(random),
  ]
  return Buffer.concat([
    value.described(0x73, value.list(...properties)),
    value.described(
      0x74,
      value.map(value.string('operation'), value.string(random.pick(OPERATIONS))),
    ),
    value.described(0x77, random.chance(0.9) ? value.map(...entries.flat()) : randomValue(random)),
  ])
}

function flow(random: SeededRandom, channel: number): Buffer {
  const link = {
    handle: random.below(HANDLES),
    credit: randomUint(random),
    count: random.chance(0.8) ? 0 : randomUint(random),
    drain: random.chance(0.3),
    echo: random.chance(0.2),
  }
  const window = random.chance(0.7) ? 1000 : randomUint(random)
  const nextIn = random.chance(0.8) ? 0 : randomUint(random)
  return frames.flow(channel, random.chance(0.9) ? link : undefined, { window, nextIn })
}

const STATES = [0x23, 0x24, 0x24, 0x25, 0x26, 0x27] as const

/** Of a transaction that there is not, mostly. */
function inTransaction(random: SeededRandom): Buffer {
  const id = random.chance(0.9) ? value.binary(bytesOf(random, random.below(20))) : value.null
  const outcome = random.chance(0.8)
    ? value.described(random.pick(STATES), value.list())
    : randomValue(random)
  return value.described(0x34, value.list(id, ...(random.chance(0.8) ? [outcome] : [])))
}

/** To the coordinator of transactions. */
function control(random: SeededRandom): Buffer {
  const fields = random.chance(0.5) ? [value.binary(bytesOf(random, 16)), value.true] : []
  const body = value.described(random.pick([0x31, 0x31, 0x32, 0x30]), value.list(...fields))
  return value.described(0x77, random.chance(0.9) ? body : randomValue(random))
}

function disposition(random: SeededRandom, channel: number): Buffer {
  const state = random.chance(0.8)
    ? value.described(random.pick(STATES), value.list())
    : inTransaction(random)
  return frame(channel, DISPOSITION, [
    random.chance(0.8) ? value.true : value.false,
    value.uint(randomUint(random)),
    random.chance(0.5) ? value.null : value.uint(randomUint(random)),
    random.chance(0.5) ? value.true : value.false,
    random.chance(0.9) ? state : randomValue(random),
  ])
}
