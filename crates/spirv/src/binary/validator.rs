//! Khronos's validator as a process: [`Validator`], which says whether a driver may be given SPIR-V of other compilers.
//!
//! A driver does not check SPIR-V: a module that breaks a rule may crash its compiler or write anywhere. Khronos's own tool
//! checks the rules, which grow with each version. `tool.rs` runs it.
//! Called by `pipeline/cached_build.rs`, which stores on disk which modules passed. What is checked before is in `mod.rs`.

use std::ffi::OsString;

use crate::error::Unvalidated;
use crate::tool::{Answer, Tool, ToolError};

/// The validator to use instead of that in `PATH`.
const VARIABLE: &str = "VKARRAY_SPIRV_VAL";

/// The validator's name in `PATH`.
const PROGRAM: &str = "spirv-val";

/// What the installed validator is, and how it judges.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Validator(Tool);

impl Validator {
    /// The validator that the environment names, for a device that has scalar layouts enabled or not.
    pub fn of_environment(has_scalar_layouts: bool) -> Self {
        Self::new(Tool::named_by(VARIABLE, PROGRAM), has_scalar_layouts)
    }

    fn new(program: OsString, has_scalar_layouts: bool) -> Self {
        // Every device that is opened has Vulkan 1.3, and later versions take no SPIR-V that 1.3 does not.
        let arguments = ["--target-env", "vulkan1.3"].into_iter();
        let layouts = has_scalar_layouts.then_some("--scalar-block-layout");
        Self(Tool::new(program, arguments.chain(layouts).chain(["-"]).map(OsString::from)))
    }

    /// Runs the validator on a module. Blocks until it ends, for a minute at most.
    ///
    /// # Errors
    ///
    /// [`Unvalidated`] says whether the module breaks a rule, or why the validator gave no verdict.
    pub fn check(&self, words: &[u32]) -> Result<(), Unvalidated> {
        let answer = self.0.run(bytemuck::cast_slice(words)).map_err(|error| match error {
            ToolError::Missing(reason) => Unvalidated::Missing { program: self.0.name(), reason },
            ToolError::Failed(reason) => Unvalidated::Failed { program: self.0.name(), reason },
        })?;
        self.judged(&answer)
    }

    fn judged(&self, Answer { status, text }: &Answer) -> Result<(), Unvalidated> {
        let reason = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ");
        let reason = reason.trim_start_matches("error: ").to_owned();
        match status.code() {
            Some(0) => Ok(()),
            // The grammar has these numbers: `instruction.rs` and `extensions.rs` refused all others.
            Some(1) if is_unknown(&reason) => Err(Unvalidated::TooOld { program: self.0.name(), reason }),
            Some(1) if !reason.is_empty() => Err(Unvalidated::Invalid { reason }),
            _ => {
                let reason = format!("it ended with {status} {reason}").trim_end().to_owned();
                Err(Unvalidated::Failed { program: self.0.name(), reason })
            }
        }
    }
}

/// Whether a validator says that it does not know something, rather than that something is wrong.
fn is_unknown(reason: &str) -> bool {
    ["Invalid opcode: ", "Invalid capability operand: "].iter().any(|known| reason.contains(known))
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;
    use crate::binary::tests::{assemble, compiled};
    use crate::tool::{MAX_ANSWER, TIME_LIMIT};

    fn words(bytes: &[u8]) -> Vec<u32> {
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }

    fn installed() -> Validator {
        Validator::new(PROGRAM.into(), true)
    }

    /// A program of the shell in place of the validator.
    #[cfg(unix)]
    fn check_with(script: &str, time_limit: Duration) -> Result<(), Unvalidated> {
        let tool = Tool { time_limit, ..Tool::new("sh".into(), ["-c", script].map(OsString::from)) };
        Validator(tool).check(&words(&compiled("saxpy")))
    }

    #[test]
    fn what_glslang_compiled_passes() {
        installed().check(&words(&compiled("saxpy"))).unwrap();
        installed().check(&words(&compiled("layouts"))).unwrap();
        // With the layout rules of a device that has no scalar layouts.
        let error = Validator::new(PROGRAM.into(), false).check(&words(&compiled("layouts"))).unwrap_err();
        assert!(matches!(error, Unvalidated::Invalid { .. }), "{error}");
    }

    #[test]
    fn a_broken_rule_is_named() {
        let text = "OpCapability Shader
            OpMemoryModel Logical GLSL450
            OpEntryPoint GLCompute %main \"main\"
            OpExecutionMode %main LocalSize 1 1 1
            %void = OpTypeVoid
            %fn = OpTypeFunction %void
            %u32 = OpTypeInt 32 0
            %f32 = OpTypeFloat 32
            %one = OpConstant %u32 1
            %main = OpFunction %void None %fn
            %l = OpLabel
            %sum = OpFAdd %f32 %one %one
            OpReturn
            OpFunctionEnd";
        let error = installed().check(&words(&assemble(text))).unwrap_err();
        assert!(matches!(&error, Unvalidated::Invalid { reason } if reason.contains("FAdd")), "{error}");
    }

    #[test]
    fn an_old_validator_and_a_wrong_module_are_different_errors() {
        let status = |script: &str| Command::new("sh").args(["-c", script]).stdin(Stdio::null()).status().unwrap();
        let judged = |script: &str, answer: &str| match installed()
            .judged(&Answer { status: status(script), text: answer.to_owned() })
        {
            Ok(()) => "passed".to_owned(),
            Err(Unvalidated::Invalid { reason }) => format!("invalid: {reason}"),
            Err(Unvalidated::TooOld { reason, .. }) => format!("too old: {reason}"),
            Err(Unvalidated::Missing { .. }) => "missing".to_owned(),
            Err(Unvalidated::Failed { reason, .. }) => format!("failed: {reason}"),
        };
        let cases = [
            ("exit 0", "warning: x", "passed"),
            (
                "exit 1",
                "error: line 2: Invalid capability operand: 6022\n",
                "too old: line 2: Invalid capability operand: 6022",
            ),
            ("exit 1", "error: line 9: Invalid opcode: 4456", "too old: line 9: Invalid opcode: 4456"),
            ("exit 1", "error: line 3: a\n  b\n\n", "invalid: line 3: a; b"),
            ("exit 1", "", "failed: it ended with exit status: 1"),
            ("kill -9 $$", "", "failed: it ended with signal: 9 (SIGKILL)"),
        ];
        for (script, answer, expected) in cases {
            assert_eq!(judged(script, answer), expected, "{script}");
        }
    }

    #[test]
    fn a_missing_validator_names_what_to_install() {
        let error = Validator::new("/no/such/spirv-val".into(), true).check(&[]).unwrap_err();
        let text = error.to_string();
        assert!(matches!(error, Unvalidated::Missing { .. }), "{text}");
        for part in ["/no/such/spirv-val", "spirv-tools", "VKARRAY_SPIRV_VAL", "Source::spirv_unchecked"] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    #[cfg(unix)]
    fn a_validator_that_hangs_floods_or_never_reads_does_no_harm() {
        let error = check_with("exec sleep 1000", Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("it was ended after 0 s"), "{error}");
        check_with("exit 0", TIME_LIMIT).unwrap();
        let flood = "i=0; while [ $i -lt 20000 ]; do echo 0123456789; i=$((i+1)); done; exit 1";
        let Unvalidated::Invalid { reason } = check_with(flood, TIME_LIMIT).unwrap_err() else { panic!("no answer") };
        assert!(reason.len() < 2 * usize::try_from(MAX_ANSWER).unwrap());
        // It reads all of the module, and nothing else.
        let bytes = compiled("saxpy").len();
        check_with(&format!("test $(wc -c) = {bytes}"), TIME_LIMIT).unwrap();
    }
}
