<?php
/**
 * Text for the site's privacy policy.
 *
 * @package Interlock_Bridge
 */

defined( 'ABSPATH' ) || exit;

/**
 * Suggests the text to whoever edits the policy.
 */
function interlock_bridge_add_privacy_text(): void {
	$text = __( 'When an administrator sends an instruction on the Interlock page, its words and this site\'s id are sent to the gateway that an administrator has set, and from there what is needed to look up an Australian Business Number may be sent to the Australian Business Register. The answer is kept on this site for one minute, for that administrator only. Nothing about visitors is collected or sent.', 'interlock-bridge' );
	wp_add_privacy_policy_content( __( 'Interlock Bridge', 'interlock-bridge' ), '<p>' . esc_html( $text ) . '</p>' );
}
