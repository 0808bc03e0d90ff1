<?php
/**
 * From an instruction to an answer: the gateway proposes, this site permits,
 * the gateway calls.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Longest instruction, in bytes.
 */
const INTERLOCK_BRIDGE_MAX_INSTRUCTION = 4096;

/**
 * Asks the gateway what an instruction means. Nothing is run.
 *
 * @param string $instruction In an administrator's words.
 * @return array{status: string, reason: string, arguments: array<string, string>}|WP_Error
 *         Status is resolved, no_matching_tool or not_permitted; for the last
 *         two the reason says why.
 */
function interlock_bridge_propose( string $instruction ) {
	if ( '' === trim( $instruction ) ) {
		return new WP_Error( 'instruction_empty' );
	}
	if ( strlen( $instruction ) > INTERLOCK_BRIDGE_MAX_INSTRUCTION ) {
		return new WP_Error( 'instruction_too_long' );
	}
	$envelope = interlock_bridge_call( 'bridge_platform/agent/resolve', 'platform:agent:invoke', array( 'instruction' => $instruction ) );
	if ( is_wp_error( $envelope ) ) {
		return $envelope;
	}
	$proposal = $envelope['data'];
	$outcome  = array(
		'status'    => interlock_bridge_text( $proposal, 'status', 20 ),
		'reason'    => '',
		'arguments' => array(),
	);
	if ( 'no_matching_tool' === $outcome['status'] ) {
		$outcome['reason'] = interlock_bridge_text( $proposal, 'reason', 64 );
		return $outcome;
	}
	if ( 'resolved' !== $outcome['status'] ) {
		return new WP_Error( 'gateway_not_understood' );
	}
	$refused = interlock_bridge_permit( $proposal, $instruction );
	if ( '' !== $refused ) {
		$outcome['status'] = 'not_permitted';
		$outcome['reason'] = $refused;
		return $outcome;
	}
	$outcome['arguments'] = $proposal['arguments'];
	return $outcome;
}

/**
 * Carries out an instruction.
 *
 * @param string $instruction In an administrator's words.
 * @param string $form        Id of the form that was sent: the same form with
 *                            the same outcome is one call, however often it is sent.
 * @return array{status: string, reason: string, answer?: array, quota?: array}|WP_Error
 *         Status is answered, no_matching_tool or not_permitted.
 */
function interlock_bridge_ask( string $instruction, string $form ) {
	$proposal = interlock_bridge_propose( $instruction );
	if ( is_wp_error( $proposal ) || 'resolved' !== $proposal['status'] ) {
		return $proposal;
	}
	$abn      = $proposal['arguments']['abn'];
	$envelope = interlock_bridge_call(
		INTERLOCK_BRIDGE_APP . '/' . INTERLOCK_BRIDGE_OPERATION,
		'app:' . INTERLOCK_BRIDGE_APP . ':' . INTERLOCK_BRIDGE_OPERATION,
		array( 'abn' => $abn ),
		hash( 'sha256', $form . ' ' . $abn )
	);
	if ( is_wp_error( $envelope ) ) {
		return $envelope;
	}
	$answer = interlock_bridge_read_answer( $envelope['data'], $abn );
	if ( null === $answer ) {
		return new WP_Error( 'gateway_not_understood' );
	}
	return array(
		'status' => 'answered',
		'reason' => '',
		'answer' => $answer,
		'quota'  => $envelope['quota'],
	);
}
