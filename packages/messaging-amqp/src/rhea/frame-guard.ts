import { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import { ProtocolViolationError } from '../errors/protocol-violation-error.ts'
import { afterTurn, endOfTurn } from '../platform/turns.ts'
import { itemOffsets } from '../values/scan-values.ts'
import { checkPerformative, TRANSFER, type Performative } from './performative-fields.ts'

/** Of the frames of the SASL layer, and of everything before the connection is open. */
const MAX_EARLY_FRAME_BYTES = 8192
/** Above it, links give nothing more to a client that does not read. */
const MAX_UNWRITTEN_BYTES = 1024 * 1024
/** Above it, nothing more is read of such a client, either: each frame may need an answer. */
const MAX_UNREAD_ANSWERS_BYTES = 4 * 1024 * 1024
/** Of the AMQP layer, before the SASL outcome. */
const MAX_WAITING_BYTES = 64 * 1024
const HEADER_BYTES = 8
const SASL_HEADER = Buffer.from('AMQP\x03\x01\x00\x00', 'latin1')
const AMQP_HEADER = Buffer.from('AMQP\x00\x01\x00\x00', 'latin1')
const PROTOCOL_NAME = 0x414d5150
const AMQP_FRAME = 0
const SASL_FRAME = 1
const SASL_OUTCOME = 0x44

type Layer = 'begin' | 'sasl' | 'saslEnds' | 'amqp'

export interface FrameGuardParts {
  readonly stream: Duplex
  /** That we announce. */
  readonly maxFrameBytes: number
  /** While more bytes of transfers are held, nothing is read. */
  readonly maxHeldBytes: number
  readonly onViolation: (error: ProtocolViolationError) => void
  /** The last word is written: nothing more is read. */
  readonly onLastWord: () => void
  /** The connection is gone. */
  readonly onEnd: () => void
}

/**
 * The socket that rhea sees. It hands on whole frames only, whose sizes and values were checked before rhea believes them, and
 * writes the frames of one turn together. Bytes of the AMQP layer that a client sends with its SASL frames wait until the
 * outcome is written.
 */
export class FrameGuard extends EventEmitter {
  readonly #parts: FrameGuardParts
  #layer: Layer = 'begin'
  #chunks: Buffer[] = []
  #bytes = 0
  #held = 0
  #isCorked = false
  /** Nothing more is read. */
  #isBroken = false
  #hasSaidAll = false
  #hasEnded = false
  #isOpen = false
  #drained: PromiseWithResolvers<void> | undefined

  constructor(parts: FrameGuardParts) {
    super()
    this.#parts = parts
    const { stream } = parts
    stream.on('data', (chunk: Buffer) => this.#take(chunk))
    stream.on('end', () => this.#end())
    stream.on('close', () => this.#end())
    stream.on('error', () => this.#end())
    stream.on('drain', () => {
      this.#adjust()
      this.#tellDrained()
    })
  }

  /** Resolves when the client has taken most of what was written, or has gone. */
  async writable(): Promise<void> {
    const { stream } = this.#parts
    if (this.#hasEnded || stream.writableLength <= MAX_UNWRITTEN_BYTES) return
    this.#drained ??= Promise.withResolvers()
    await this.#drained.promise
  }

  /** Bytes of a transfer are in memory until they are released. */
  hold(bytes: number): void {
    this.#held += bytes
    this.#adjust()
  }

  release(bytes: number): void {
    this.#held -= bytes
    this.#adjust()
  }

  /** From now on frames may be as large as announced. */
  opened(): void {
    this.#isOpen = true
  }

  // What rhea calls:

  write(bytes: Buffer): void {
    const { stream } = this.#parts
    if (!stream.writable) return
    if (!this.#isCorked) {
      this.#isCorked = true
      stream.cork()
      endOfTurn(() => {
        this.#isCorked = false
        stream.uncork()
      })
    }
    stream.write(bytes)
    this.#adjust()
    if (this.#layer === 'sasl' && isOutcome(bytes)) {
      this.#layer = 'saslEnds'
      if (!isWelcome(bytes)) {
        this.end()
        return
      }
      // rhea knows that this layer has ended when its own turn has.
      afterTurn(() => {
        this.#layer = 'begin'
        this.#handOn()
      })
    }
  }

  end(): void {
    if (this.#hasSaidAll) return
    this.#isBroken = true
    this.#hasSaidAll = true
    this.#chunks = []
    this.#parts.onLastWord()
    // After what was written in this turn.
    endOfTurn(() => {
      this.#parts.stream.end()
    })
  }

  destroy(): void {
    this.#parts.stream.destroy()
  }

  setNoDelay(): void {
    // The listener has done it.
  }

  get_id_string(): string {
    return 'client'
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.#tellDrained()
    // Not an event: rhea takes off every listener of a client that is silent for too long.
    this.#parts.onEnd()
    this.emit('end')
    this.#parts.stream.destroy()
  }

  #tellDrained(): void {
    this.#drained?.resolve()
    this.#drained = undefined
  }

  #adjust(): void {
    const { stream, maxHeldBytes } = this.#parts
    const isFull = this.#held > maxHeldBytes || stream.writableLength > MAX_UNREAD_ANSWERS_BYTES
    if (isFull === stream.isPaused()) return
    if (isFull) stream.pause()
    else stream.resume()
  }

  #take(chunk: Buffer): void {
    if (this.#isBroken || this.#hasEnded) return
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    this.#handOn()
  }

  #handOn(): void {
    if (this.#isBroken || this.#hasEnded) return
    try {
      if (this.#bytes < this.#nextBytes()) return
      const buffer = this.#chunks.length === 1 ? this.#chunks[0]! : Buffer.concat(this.#chunks)
      const end = this.#wholeFrames(buffer)
      this.#chunks = end === buffer.length ? [] : [buffer.subarray(end)]
      this.#bytes = buffer.length - end
      if (end > 0) this.emit('data', buffer.subarray(0, end))
    } catch (error) {
      if (!(error instanceof ProtocolViolationError)) throw error
      this.#isBroken = true
      this.#parts.onViolation(error)
    }
  }

  /** How many bytes have to be there before it looks again. */
  #nextBytes(): number {
    if (this.#layer === 'saslEnds') return this.#waitingBytes()
    const [first] = this.#chunks
    if (first === undefined || first.length < 4 || this.#layer === 'begin') return HEADER_BYTES
    const waits = this.#layer === 'sasl' && first.readUInt32BE(0) === PROTOCOL_NAME
    return waits ? this.#waitingBytes() : Math.max(HEADER_BYTES, this.#frameBytes(first, 0))
  }

  /** What comes before the SASL outcome waits for it. */
  #waitingBytes(): number {
    if (this.#bytes > MAX_WAITING_BYTES) violated('it does not wait for the SASL outcome')
    return Infinity
  }

  /** The end of the last whole frame. */
  #wholeFrames(buffer: Buffer): number {
    let at = 0
    while (buffer.length - at >= HEADER_BYTES) {
      if (this.#layer === 'saslEnds') break
      if (this.#layer === 'begin') {
        at = this.#readHeader(buffer, at)
        continue
      }
      // The header of the next layer: it is read when this one has ended.
      if (this.#layer === 'sasl' && buffer.readUInt32BE(at) === PROTOCOL_NAME) break
      const size = this.#frameBytes(buffer, at)
      if (buffer.length - at < size) break
      this.#checkFrame(buffer, at, at + size)
      at += size
    }
    return at
  }

  #readHeader(buffer: Buffer, at: number): number {
    const header = buffer.subarray(at, at + HEADER_BYTES)
    if (header.equals(SASL_HEADER)) this.#layer = 'sasl'
    else if (header.equals(AMQP_HEADER)) this.#layer = 'amqp'
    else violated('it does not speak AMQP 1.0')
    return at + HEADER_BYTES
  }

  #frameBytes(buffer: Buffer, at: number): number {
    const size = buffer.readUInt32BE(at)
    const most = this.#isOpen ? this.#parts.maxFrameBytes : MAX_EARLY_FRAME_BYTES
    if (size < HEADER_BYTES || size > most) violated(`a frame has ${size} bytes`)
    return size
  }

  #checkFrame(buffer: Buffer, start: number, end: number): void {
    const offset = buffer[start + 4]! * 4
    const type = buffer[start + 5]
    const body = start + offset
    if (offset < HEADER_BYTES || body > end) violated('a frame has a wrong data offset')
    if (type !== (this.#layer === 'sasl' ? SASL_FRAME : AMQP_FRAME))
      violated('a frame has a wrong type')
    // An empty frame only says that the client is alive.
    if (body === end) return
    const { code, end: payload } = this.#performative(buffer, body, end)
    if (payload < end && code !== TRANSFER) violated('a frame has bytes behind its performative')
  }

  #performative(buffer: Buffer, at: number, end: number): Performative {
    const layer = this.#layer === 'sasl' ? 'sasl' : 'amqp'
    try {
      return checkPerformative(buffer, { at, end, layer })
    } catch (cause) {
      if (cause instanceof ProtocolViolationError) throw cause
      const message = 'The client broke the protocol: a frame has a broken value.'
      throw new ProtocolViolationError(message, 'amqp:decode-error', { cause })
    }
  }
}

/** Whether the outcome lets the client in. */
function isWelcome(bytes: Buffer): boolean {
  const [codeAt = 0] = itemOffsets(bytes, HEADER_BYTES + 3, bytes.length)
  return bytes[codeAt + 1] === 0
}

function isOutcome(bytes: Buffer): boolean {
  return bytes.length > 10 && bytes[5] === SASL_FRAME && bytes[HEADER_BYTES + 2] === SASL_OUTCOME
}

function violated(what: string): never {
  throw new ProtocolViolationError(`The client broke the protocol: ${what}.`)
}
