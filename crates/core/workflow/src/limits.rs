//! Every bound of a definition and of what its expressions may cost.

/// Bytes of a definition's source.
pub const SOURCE_BYTES_MAX: usize = 256 * 1024;
/// Steps of a workflow. The plan numbers them and each costs memory per live run.
pub const STEPS_MAX: usize = 64;
/// Services of a workflow.
pub const SERVICES_MAX: usize = 64;
/// Sources of a workflow.
pub const SOURCES_MAX: usize = 16;
/// Headers, and query parameters, of one call.
pub const PAIRS_MAX: usize = 64;
/// Nesting of a definition's own YAML or JSON.
pub const SOURCE_DEPTH_MAX: usize = 48;
/// Nesting of any JSON that a client or a service sends. serde_json itself stops at 128.
pub const JSON_DEPTH_MAX: usize = 64;
/// Schema problems reported for one body.
pub const SCHEMA_PROBLEMS_MAX: usize = 10;
/// Bytes of one expression. Each operator may nest, so this also bounds the interpreter's stack.
pub const EXPRESSION_BYTES_MAX: usize = 2048;
/// Nesting of one expression's terms.
pub const EXPRESSION_DEPTH_MAX: usize = 64;
/// Units of work of one evaluation: about one unit per value touched and per 16 bytes of text.
pub const EVALUATION_UNITS_MAX: u32 = 1 << 20;
/// Units of one value that an expression makes: 65,536 values or 1 MiB of text.
pub const VALUE_UNITS_MAX: u32 = 1 << 16;
/// Nesting of one value that an expression makes.
pub const VALUE_DEPTH_MAX: u32 = 128;
/// Bytes of a step's output. Outputs live in the journal and in the memory of live runs.
pub const OUTPUT_BYTES_MAX: usize = 64 * 1024;
/// Bytes of an answer that becomes the output by itself, without an `output` expression.
pub const DEFAULT_OUTPUT_BYTES_MAX: usize = 16 * 1024;
/// Bytes of a rendered body.
pub const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Bytes of a rendered URL; common servers refuse longer ones.
pub const URL_BYTES_MAX: usize = 8 * 1024;
/// Bytes of a name, a field or a property of a message; brokers commonly take no more than 64 KiB of all of them.
pub const MESSAGE_TEXT_BYTES_MAX: usize = 32 * 1024;
/// Bytes of a compiled pattern of a schema.
pub const PATTERN_BYTES_MAX: usize = 1024 * 1024;
/// Bytes of a value quoted in a message.
pub const QUOTE_CHARS_MAX: usize = 120;
