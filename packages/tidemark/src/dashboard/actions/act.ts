import type { ActionBody } from '../requests/action-body.ts'
import type { DashboardContext } from '../sources/dashboard-context.ts'
import type { ActionAnswer } from '../views.ts'

/** Does something, or tells what it would do when `isDry`. Rejects with ERR_BAD_REQUEST, ERR_NOT_FOUND, and as what it calls. */
export type Act = (
  context: DashboardContext,
  body: ActionBody,
  isDry: boolean,
) => Promise<ActionAnswer>
