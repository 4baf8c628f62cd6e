const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat("en-US", { notation: "compact", maximumFractionDigits: 1 });
const NONE = "–";

const known = (value) => value !== null && value !== undefined;

export const count = (value) => (known(value) ? whole.format(value) : NONE);
export const compact = (value) => (known(value) ? short.format(value) : NONE);

export function real(value, digits = 3) {
  if (!known(value)) return NONE;
  const size = Math.abs(value);
  if (size >= 1000) return whole.format(value);
  const decimals = size === 0 ? 0 : Math.max(0, Math.min(4, digits - 1 - Math.floor(Math.log10(size))));
  return value.toFixed(decimals);
}

export function percent(value) {
  if (!known(value)) return NONE;
  return `${value >= 1000 ? whole.format(value) : value.toFixed(value < 10 ? 2 : 1)} %`;
}

export function seconds(value) {
  if (!known(value)) return NONE;
  if (value >= 100) return `${whole.format(value)} s`;
  return value >= 1 ? `${value.toFixed(2)} s` : `${real(value * 1000)} ms`;
}

export const clock = (unixSeconds) =>
  new Date(unixSeconds * 1000).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
