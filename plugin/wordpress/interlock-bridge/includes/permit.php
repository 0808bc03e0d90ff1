<?php
/**
 * What this site lets happen, whatever the gateway proposed. The gateway
 * checks by itself again.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

const INTERLOCK_BRIDGE_CAPABILITY = 'business.au.abn.lookup';
const INTERLOCK_BRIDGE_APP        = 'abn_lookup';
const INTERLOCK_BRIDGE_OPERATION  = 'lookup_v1';

/**
 * Permits a proposal: only the lookup of one ABN that the administrator wrote,
 * of low risk and without confirmation.
 *
 * @param mixed  $proposal    Data of the gateway's answer, decoded.
 * @param string $instruction What the administrator wrote.
 * @return string '' where it is permitted, else the first thing that is not:
 *                capability, operation, risk, confirmation, arguments or instruction.
 */
function interlock_bridge_permit( $proposal, string $instruction ): string {
	$proposal = is_array( $proposal ) ? $proposal : array();
	$has      = static function ( string $name, $value ) use ( $proposal ): bool {
		return array_key_exists( $name, $proposal ) && $proposal[ $name ] === $value;
	};
	if ( ! $has( 'capability', INTERLOCK_BRIDGE_CAPABILITY ) ) {
		return 'capability';
	}
	if ( ! $has( 'app', INTERLOCK_BRIDGE_APP ) || ! $has( 'operation', INTERLOCK_BRIDGE_OPERATION ) ) {
		return 'operation';
	}
	if ( ! $has( 'risk', 'low' ) ) {
		return 'risk';
	}
	if ( ! $has( 'confirmation', false ) ) {
		return 'confirmation';
	}
	$arguments = isset( $proposal['arguments'] ) ? $proposal['arguments'] : null;
	if ( ! is_array( $arguments ) || array( 'abn' ) !== array_keys( $arguments ) || ! is_string( $arguments['abn'] ) || ! interlock_bridge_is_abn( $arguments['abn'] ) ) {
		return 'arguments';
	}
	return interlock_bridge_names_abn( $instruction, $arguments['abn'] ) ? '' : 'instruction';
}
