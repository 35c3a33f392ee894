// Package questions holds Rankwright to what is known publicly: questions that are asked before hardware is bought or a model is
// deployed, each with the command that answers it, the answer that somebody else found, and where that stands.
package questions
