/** Numbers rounded as Python rounds them: a tie goes to the even neighbour. Pure; not for negatives. */

/** Rounds to an integer. @param {number} value */
export function halfEven(value) {
  const below = Math.floor(value);
  if (value - below === 0.5) return below % 2 === 0 ? below : below + 1;
  return Math.round(value);
}

/** Writes one decimal; of those, only x.25 and x.75 are exact ties. @param {number} value */
export function oneDecimal(value) {
  return value - Math.floor(value) === 0.25 ? `${Math.floor(value)}.2` : value.toFixed(1);
}
