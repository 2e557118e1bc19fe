/** The end of a call as a signal, made when somebody asks for it: most calls end without anybody having asked. */

/** Whether a call has ended. */
export class CallSignal {
  #controller: AbortController | undefined;
  #isOver = false;

  /** Aborts when the call ends. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#isOver) this.#controller.abort();
    return this.#controller.signal;
  }

  /** Says that the call has ended. */
  end(): void {
    this.#isOver = true;
    this.#controller?.abort();
  }
}
