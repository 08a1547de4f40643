import type {
  MigrationEvent,
  MigrationProgress,
  VerifyProgress,
  VerifyReport,
} from '@tidemark/jobs'
import type { CommandContext } from '../command-context.ts'
import { errorLine } from './report-error.ts'
import { writeJsonLine } from './json-lines.ts'
import { ProgressLine, bar, grouped, migrationLine } from './progress-line.ts'

const FEW = 5

/** Reports on a migration: as text on the error output, or as one JSON line for each event. */
export class MigrationReporter implements AsyncDisposable {
  readonly #context: CommandContext
  readonly #form: 'text' | 'json'
  readonly #line: ProgressLine
  #written: Promise<unknown> = Promise.resolve()

  constructor(context: CommandContext, form: 'text' | 'json') {
    this.#context = context
    this.#form = form
    this.#line = new ProgressLine(context)
  }

  started(worker: { readonly job: string; readonly hostName: string }): void {
    this.#tell({ event: 'started', ...worker }, `job ${worker.job}, worker ${worker.hostName}`)
  }

  progress(progress: MigrationProgress): void {
    if (this.#form === 'json') this.#write({ event: 'progress', ...progress })
    else if (this.#context.interactive) this.#line.draw(migrationLine(progress))
    else this.#line.say(migrationLine(progress))
  }

  tell(event: MigrationEvent): void {
    const { kind, ...rest } = event
    if (this.#form === 'json') this.#write({ event: kind, ...rest })
    else if (event.kind === 'failure') {
      // The command ends with it.
      if (event.what === 'worker') return
      this.#line.say(`${errorLine(event.error)} (${event.what}; it will be tried again)`)
    } else if (event.kind === 'deletesUnseen') {
      const { source, isLogKept } = event
      const before = isLogKept ? '' : `"tidemark versions set ${source} <seconds> --store …" and `
      this.#line.say(
        `deletes in ${source} are not copied to the target; to follow them, start with ${before}--apply-deletes`,
      )
    } else if (event.kind === 'collision') {
      const { source, target } = event
      this.#line.say(
        `collision: ${source.partitionKey} ${source.id} wants ${target.partitionKey} ${target.id}, ` +
          'which another document has; it is left out until that one is gone',
      )
    }
  }

  cutOver(progress: MigrationProgress): void {
    const { documents, updates, moves, waiting } = progress
    this.#tell(
      { event: 'cutOver', ...progress },
      `lag is zero: ${grouped(documents)} documents copied, ${grouped(updates)} updates followed, ` +
        `${grouped(moves)} moved${waiting > 0 ? `, ${grouped(waiting)} left out by collisions` : ''}`,
    )
  }

  verifying({ checked, total }: VerifyProgress): void {
    if (this.#form === 'json') return
    this.#line.draw(
      `${bar(total === 0 ? 1 : Math.min(1, checked / total))} verifying ${grouped(checked)}`,
    )
  }

  verified(report: VerifyReport): void {
    const { missing, different, extra, collisions, expected } = report
    this.#tell(
      { event: 'verified', ...report },
      `verified ${grouped(expected)} documents: ${grouped(missing.count)} missing, ` +
        `${grouped(different.count)} different, ` +
        `${grouped(extra.count)} extra, ${grouped(collisions.count)} colliding`,
    )
    if (this.#form === 'json') return
    for (const [what, findings] of Object.entries({ missing, different, extra, collisions })) {
      for (const { partitionKey, id } of findings.samples.slice(0, FEW)) {
        this.#line.say(`  ${what}: ${partitionKey} ${id}`)
      }
      if (findings.count > FEW)
        this.#line.say(`  ${what}: and ${grouped(findings.count - FEW)} more`)
    }
  }

  /** Resolves when all reports are written. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#line[Symbol.dispose]()
    await this.#written
  }

  #tell(event: object, text: string): void {
    if (this.#form === 'json') this.#write(event)
    else this.#line.say(text)
  }

  #write(event: object): void {
    this.#written = this.#written.then(() => writeJsonLine(this.#context.output, event))
  }
}
