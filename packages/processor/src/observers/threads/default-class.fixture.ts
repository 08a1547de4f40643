import { ScriptedObserver } from './scripted-observer.fixture.ts'

// oxlint-disable-next-line import/no-default-export -- modules for `observerModule` may be so
export default ScriptedObserver
