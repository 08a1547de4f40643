import type { Random } from '@tidemark/contracts'
import type { MessageChanges, StoredValue, SystemProperty } from '@tidemark/store/messages'
import type { MessageHead } from '../messages/message-codec.ts'
import type { WorkBudget } from './work-budget.ts'

/** The properties of a message as filters see them, and as an action's steps change them. */
export interface SeenProperties {
  readonly budget: WorkBudget
  system(name: SystemProperty): string | undefined
  /**
   * The application property that a filter or an action means: names are compared as they are, and without regard to case
   * if none is exactly the same. Undefined: there is none.
   */
  presentName(name: string): string | undefined
  value(presentName: string): StoredValue | undefined
  /** A UUID that nobody else has. */
  newId(): string
}

/** Names by their lower-case forms. */
type Names = Map<string, string[]>

/** What the sender gave. One for all rules that judge a message. */
export class GivenProperties implements SeenProperties {
  readonly head: MessageHead
  readonly budget: WorkBudget
  readonly #values: Readonly<Record<string, StoredValue>>
  readonly #random: Random
  #names: Names | undefined

  constructor(head: MessageHead, budget: WorkBudget, random: Random) {
    this.head = head
    this.budget = budget
    this.#random = random
    this.#values = head.properties ?? {}
  }

  system(name: SystemProperty): string | undefined {
    return this.head[name]
  }

  presentName(name: string): string | undefined {
    return this.has(name) ? name : this.alike(name)[0]
  }

  value(presentName: string): StoredValue | undefined {
    return this.#values[presentName]
  }

  /** Of version 4. */
  newId(): string {
    return this.#random.hex(16).replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12})$/, '$1-$2-4$3-a$4-$5')
  }

  has(name: string): boolean {
    return Object.hasOwn(this.#values, name)
  }

  /** Those that are the same without regard to case. */
  alike(name: string): readonly string[] {
    if (this.#names === undefined) {
      this.#names = new Map()
      for (const other of Object.keys(this.#values)) addName(this.#names, other)
    }
    return this.#names.get(name.toLowerCase()) ?? []
  }
}

/** What an action makes of them, step by step. */
export class ChangedProperties implements SeenProperties {
  readonly budget: WorkBudget
  readonly #given: GivenProperties
  /** Undefined: removed. */
  readonly #values = new Map<string, StoredValue | undefined>()
  readonly #added: Names = new Map()
  readonly #system = new Map<SystemProperty, string | null>()

  constructor(given: GivenProperties) {
    this.#given = given
    this.budget = given.budget
  }

  system(name: SystemProperty): string | undefined {
    const changed = this.#system.get(name)
    return changed === undefined ? this.#given.system(name) : (changed ?? undefined)
  }

  presentName(name: string): string | undefined {
    if (this.#has(name)) return name
    const alike = [...this.#given.alike(name), ...(this.#added.get(name.toLowerCase()) ?? [])]
    this.budget.spend(alike.length)
    return alike.find((other) => this.#has(other))
  }

  value(presentName: string): StoredValue | undefined {
    return this.#values.has(presentName)
      ? this.#values.get(presentName)
      : this.#given.value(presentName)
  }

  newId(): string {
    return this.#given.newId()
  }

  setSystem(name: SystemProperty, value: string | null): void {
    this.#system.set(name, value)
  }

  /** Undefined: removes it. */
  set(name: string, value: StoredValue | undefined): void {
    const present = this.presentName(name) ?? name
    if (!this.#values.has(present) && !this.#given.has(present)) addName(this.#added, present)
    this.#values.set(present, value)
  }

  changes(): MessageChanges {
    const properties: [string, StoredValue][] = []
    const removed: string[] = []
    for (const [name, value] of this.#values) {
      if (value === undefined) removed.push(name)
      else properties.push([name, value])
    }
    return {
      properties: Object.fromEntries(properties),
      removed,
      system: Object.fromEntries(this.#system),
    }
  }

  #has(name: string): boolean {
    return this.#values.has(name) ? this.#values.get(name) !== undefined : this.#given.has(name)
  }
}

function addName(names: Names, name: string): void {
  const lower = name.toLowerCase()
  const alike = names.get(lower)
  if (alike === undefined) names.set(lower, [name])
  else alike.push(name)
}
