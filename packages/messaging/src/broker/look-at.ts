import type { EntityLook, EntityRecord, MessageEngine } from '@tidemark/store/messages'

/** What looks need of the broker. */
export interface LookContext {
  engine(): Promise<MessageEngine>
  lockNowMs(): number | undefined
  storeNowMs(): number
}

/** By number. Those that are gone are left out. */
export async function lookAt(
  context: LookContext,
  records: readonly EntityRecord[],
): Promise<ReadonlyMap<number, EntityLook>> {
  const engine = await context.engine()
  const looks = await engine.look(records.map(({ number }) => number))
  return new Map(looks.map((look) => [look.entity, look]))
}

/** Whether one of these instants has come. */
export function isDue(
  context: LookContext,
  {
    scheduledMs,
    lockEndMs,
    expiresMs,
  }: Partial<Pick<EntityLook, 'scheduledMs' | 'lockEndMs' | 'expiresMs'>>,
): boolean {
  const storeMs = context.storeNowMs()
  const lockMs = context.lockNowMs() ?? Infinity
  return (
    (scheduledMs ?? Infinity) <= storeMs ||
    (expiresMs ?? Infinity) <= storeMs ||
    (lockEndMs ?? Infinity) <= lockMs
  )
}
