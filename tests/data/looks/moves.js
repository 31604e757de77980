globalThis.moves = new Set();
const look = () => {
  for (const animation of document.getAnimations()) {
    const { duration } = animation.effect.getComputedTiming();
    const name = animation.animationName ?? animation.transitionProperty;
    if (duration > 50) moves.add(`${name} ${duration}`);
  }
  requestAnimationFrame(look);
};
look();
