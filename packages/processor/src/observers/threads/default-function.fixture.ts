import { ScriptedObserver, type ScriptData } from './scripted-observer.fixture.ts'

// oxlint-disable-next-line import/no-default-export -- modules for `observerModule` may be so
export default async function makeObserver(data: ScriptData): Promise<ScriptedObserver> {
  return new ScriptedObserver(data)
}
