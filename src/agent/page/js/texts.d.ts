/** The texts of `texts/*.toml` that the page says, by their dotted keys; the server makes this module. */
export const TEXTS: InLanguages<Record<string, string>>;
