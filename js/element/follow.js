// A scroll box that follows its growing text until the reader scrolls away, and follows again from the end on.

/** Distance from the end, in pixels, that still counts as being there: a line of text. */
const NEAR = 32;

export class Follower {
  #box;
  #following = true;
  #onChange;

  /**
   * @param {HTMLElement} box
   * @param {(following: boolean) => void} onChange
   */
  constructor(box, onChange) {
    this.#box = box;
    this.#onChange = onChange;
    // A wheel or a finger upwards counts at once, before the box has moved: text that comes in between must not win.
    box.addEventListener('wheel', (event) => event.deltaY < 0 && this.#set(false), { passive: true });
    box.addEventListener('scroll', () => this.#set(this.#distance() < NEAR), { passive: true });
  }

  #distance() {
    return this.#box.scrollHeight - this.#box.clientHeight - this.#box.scrollTop;
  }

  /** @param {boolean} following */
  #set(following) {
    const at = following && this.#distance() < NEAR;
    if (at === this.#following) return;
    this.#following = at;
    this.#onChange(at);
  }

  /** After the text has grown. */
  follow() {
    if (this.#following) this.#box.scrollTop = this.#box.scrollHeight;
  }

  /** To the end, wherever the reader is. */
  jump() {
    this.#box.scrollTop = this.#box.scrollHeight;
    if (!this.#following) {
      this.#following = true;
      this.#onChange(true);
    }
  }
}
