/** What a project can be made from: a folder below `templates/`. */
export interface Template {
  /** For the list to choose from. */
  readonly hint: string
  /** Folders that it shares with others. @default only `common` */
  readonly parts?: readonly string[]
  /** What its program needs beside `tidemark`; of our own packages, the version of this one. */
  readonly dependencies: Readonly<Record<string, string>>
  /** What its tests need beside TypeScript. */
  readonly devDependencies: Readonly<Record<string, string>>
}

/** Our packages have one version. */
export const OWN_VERSION = 'own'

export type TemplateName = 'worker' | 'migration' | 'view' | 'queue' | 'azure'

export const TEMPLATES: Readonly<Record<TemplateName, Template>> = {
  worker: {
    hint: 'handles every change of a collection, in order per key',
    parts: ['receipts'],
    dependencies: {},
    devDependencies: { '@tidemark/testing': OWN_VERSION },
  },
  migration: {
    hint: 'copies a collection to another partition key while it is written to',
    dependencies: {},
    devDependencies: {},
  },
  view: {
    hint: 'keeps counts and sums of a collection right, with deletes',
    dependencies: {},
    devDependencies: {},
  },
  queue: {
    hint: 'handles messages of a queue, with time to live and dead letters',
    dependencies: {},
    devDependencies: {},
  },
  azure: {
    hint: 'handles the change feed of Azure Cosmos DB, by its official client',
    parts: ['receipts'],
    dependencies: { '@azure/cosmos': '^4.3.0', '@tidemark/cosmos': OWN_VERSION },
    devDependencies: { '@tidemark/testing': OWN_VERSION },
  },
}

export const TEMPLATE_NAMES: readonly TemplateName[] = Object.keys(TEMPLATES).filter(isTemplateName)

export function isTemplateName(name: string): name is TemplateName {
  return Object.hasOwn(TEMPLATES, name)
}
