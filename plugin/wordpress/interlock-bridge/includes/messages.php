<?php
/**
 * What a word of the gateway means, in a sentence for an administrator.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Why the gateway proposed nothing.
 *
 * @param string $reason One word of the gateway.
 */
function interlock_bridge_reason_message( string $reason ): string {
	$messages = array(
		'no_match'             => __( 'Nothing in the instruction is something that can be looked up. Write one ABN, for example: Check whether ABN 51 824 753 556 is registered. The name of a business is not looked up.', 'interlock-bridge' ),
		'ambiguous'            => __( 'The instruction names several different numbers. Ask for one at a time.', 'interlock-bridge' ),
		'invalid_checksum'     => __( 'The number has the right length, but it cannot be an ABN: its check digits do not add up. Look for a typing error.', 'interlock-bridge' ),
		'not_offered'          => __( 'What the instruction asks for is not enabled for your organisation. Ask the operator of the gateway to enable the app.', 'interlock-bridge' ),
		'model_declined'       => __( 'The language model found nothing in the instruction that it could propose. Write it in other words, with one ABN.', 'interlock-bridge' ),
		'selector_unavailable' => __( 'The language model could not be asked, and without it nothing in the instruction matched. Write one ABN, or try again later.', 'interlock-bridge' ),
		'selector_capped'      => __( 'Today\'s questions to the language model are used up. An instruction with one ABN works without it.', 'interlock-bridge' ),
		'invalid_arguments'    => __( 'What was proposed is not what the service takes. Write the instruction in other words.', 'interlock-bridge' ),
		'not_in_instruction'   => __( 'What was proposed does not stand in your instruction, so it was refused. Write the ABN itself.', 'interlock-bridge' ),
		'policy_denied'        => __( 'Your organisation\'s policy does not allow this. Ask the operator of the gateway.', 'interlock-bridge' ),
	);
	return $messages[ $reason ] ?? __( 'The gateway found nothing that it could do for this instruction.', 'interlock-bridge' );
}

/**
 * Why this site did not permit what the gateway proposed.
 *
 * @param string $refused What interlock_bridge_permit() returned.
 */
function interlock_bridge_permit_message( string $refused ): string {
	$messages = array(
		'capability'   => __( 'The gateway proposed something else than looking up an ABN. This site permits only that, so nothing was called.', 'interlock-bridge' ),
		'operation'    => __( 'The gateway proposed another service than the one for looking up an ABN. Nothing was called.', 'interlock-bridge' ),
		'risk'         => __( 'The gateway proposed a call whose risk is not low. This site permits only calls of low risk, so nothing was called.', 'interlock-bridge' ),
		'confirmation' => __( 'The gateway proposed a call that a person must confirm. This site cannot do that, so nothing was called.', 'interlock-bridge' ),
		'arguments'    => __( 'The gateway proposed a call with something else than one valid ABN. Nothing was called.', 'interlock-bridge' ),
	);
	return $messages[ $refused ] ?? __( 'The gateway proposed an ABN that does not stand in your instruction. Nothing was called.', 'interlock-bridge' );
}

/**
 * What went wrong, in a sentence that says what to do.
 *
 * @param WP_Error $error Of interlock_bridge_call() or interlock_bridge_propose().
 */
function interlock_bridge_error_message( WP_Error $error ): string {
	$code = (string) $error->get_error_code();
	if ( '' !== $error->get_error_message() ) {
		return $error->get_error_message();
	}
	$messages = interlock_bridge_own_messages() + interlock_bridge_refusal_messages();
	return $messages[ $code ] ?? __( 'The gateway refused the call.', 'interlock-bridge' );
}

/**
 * Failures on this side of the gateway.
 *
 * @return array<string, string>
 */
function interlock_bridge_own_messages(): array {
	return array(
		'instruction_empty'      => __( 'Write an instruction first.', 'interlock-bridge' ),
		'instruction_too_long'   => __( 'The instruction is too long. Shorten it to 4,096 bytes.', 'interlock-bridge' ),
		'gateway_unreachable'    => __( 'The gateway could not be reached. Check the gateway URL and its certificate, and that the gateway runs; then try again.', 'interlock-bridge' ),
		'gateway_not_understood' => __( 'What answered is not an Interlock gateway, or its answer was damaged. Check the gateway URL.', 'interlock-bridge' ),
		'key_not_rsa'            => __( 'The token could not be signed. Check the key file on the settings page.', 'interlock-bridge' ),
	);
}

/**
 * Refusals by the gateway.
 *
 * @return array<string, string>
 */
function interlock_bridge_refusal_messages(): array {
	return array(
		'invalid_token'         => __( 'The gateway does not accept this site\'s signature. Check site id, tenant id, key id and audience, that the public key of the settings page is registered and in use there, and that the clocks of both machines are right.', 'interlock-bridge' ),
		'rate_limited'          => __( 'This site has asked too often in a short time. Wait a minute and try again.', 'interlock-bridge' ),
		'tenant_suspended'      => __( 'Your organisation is suspended at the gateway. Ask its operator.', 'interlock-bridge' ),
		'subscription_inactive' => __( 'Your organisation has no active subscription at the gateway. Ask its operator.', 'interlock-bridge' ),
		'app_not_enabled'       => __( 'The app is not enabled for your organisation. Ask the operator of the gateway to enable it.', 'interlock-bridge' ),
		'unknown_operation'     => __( 'The gateway does not offer this service. It may be of another version than this plugin.', 'interlock-bridge' ),
		'insufficient_scope'    => __( 'The gateway wants another permission than this plugin asked for. It may be of another version than this plugin.', 'interlock-bridge' ),
		'idempotency_conflict'  => __( 'This form was used for another call already. Reload the page and ask again.', 'interlock-bridge' ),
		'invalid_arguments'     => __( 'The gateway found that this is not something that can be looked up. Check the ABN.', 'interlock-bridge' ),
		'policy_denied'         => __( 'Your organisation\'s policy does not allow this call. Ask the operator of the gateway.', 'interlock-bridge' ),
		'confirmation_required' => __( 'A person must confirm this call at the gateway first. This site cannot do that.', 'interlock-bridge' ),
		'log_unavailable'       => __( 'The gateway cannot write its log now, and makes no call that it cannot record. Try again later.', 'interlock-bridge' ),
		'quota_exceeded'        => __( 'Your organisation has used up its calls for now. Try again when the quota renews, or ask the operator of the gateway for a larger one.', 'interlock-bridge' ),
		'credential_missing'    => __( 'The gateway has no credential of your organisation for the register. Its operator has to store one.', 'interlock-bridge' ),
		'credential_rejected'   => __( 'The register refused your organisation\'s credential. The operator of the gateway has to replace it.', 'interlock-bridge' ),
		'upstream_unavailable'  => __( 'The register cannot be reached now, so nothing is known about the ABN. Try again later.', 'interlock-bridge' ),
	);
}
